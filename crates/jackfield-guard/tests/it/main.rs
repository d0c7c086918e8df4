//! Integration tests of `jackfield-guard`. Those that start processes are in the crates that have programs for them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod hangup;
