//! Integration tests of `jackfield-store-memory`.

mod contract;
mod leased;
mod passing;
