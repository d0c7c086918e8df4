//! Integration tests of `jackfield-engine`.
