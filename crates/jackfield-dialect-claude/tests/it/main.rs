//! Integration tests of `jackfield-dialect-claude`.
