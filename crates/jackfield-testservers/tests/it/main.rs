//! Integration tests of `jackfield-testservers`.
