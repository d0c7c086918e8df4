//! Integration tests of `jackfield-provider-claude`.
