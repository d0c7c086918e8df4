//! Integration tests of `jackfield-domain`.
