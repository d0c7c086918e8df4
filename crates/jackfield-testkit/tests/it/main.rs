//! Integration tests of `jackfield-testkit`.

mod arb;
