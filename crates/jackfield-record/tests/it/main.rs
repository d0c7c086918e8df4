//! Integration tests of `jackfield-record`.
