//! Integration tests of `jackfield-record`.

mod cutting;
mod golden;
mod laws;
mod recording;
mod refusals;
mod samples;
