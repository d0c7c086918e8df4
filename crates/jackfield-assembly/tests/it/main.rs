//! Integration tests of `jackfield-assembly`.
