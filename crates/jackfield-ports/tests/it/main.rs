//! Integration tests of `jackfield-ports`.

mod lease;
mod values;
