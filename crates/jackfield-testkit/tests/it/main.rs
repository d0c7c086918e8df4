//! Integration tests of `jackfield-testkit`.
