//! Integration tests of `jackfield-store-memory`.

mod contract;
