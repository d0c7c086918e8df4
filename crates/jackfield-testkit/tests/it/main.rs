//! Integration tests of `jackfield-testkit`.

mod server;
