//! Integration tests of `jackfield-provider-kit`.
