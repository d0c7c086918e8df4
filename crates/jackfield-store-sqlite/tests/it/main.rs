//! Tests of the journal in a file.
#![expect(
    clippy::expect_used,
    reason = "a test ends where something is not as it should be"
)]

mod contract;
mod files;
mod harness;
mod processes;
mod writing;
