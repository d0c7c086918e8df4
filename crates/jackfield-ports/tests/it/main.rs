//! Integration tests of `jackfield-ports`.
