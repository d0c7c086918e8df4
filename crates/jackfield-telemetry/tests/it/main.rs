//! Integration tests of `jackfield-telemetry`.
#![expect(clippy::expect_used, reason = "a test that cannot go on should stop")]

mod exports;
mod ledger;
mod metrics;
mod traces;
