//! Integration tests of `jackfield-demo`.
