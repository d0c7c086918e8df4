//! Integration tests of `jackfield-store-memory`.
