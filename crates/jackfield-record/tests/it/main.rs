//! Integration tests of `jackfield-record`.

mod golden;
mod laws;
mod recording;
mod refusals;
mod samples;
