//! Integration tests of `jackfield-record`.

mod golden;
mod laws;
mod refusals;
mod samples;
