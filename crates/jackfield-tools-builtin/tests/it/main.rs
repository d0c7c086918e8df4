//! Integration tests of `jackfield-tools-builtin`.
