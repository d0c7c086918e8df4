//! Integration tests of `jackfield-cli`.
