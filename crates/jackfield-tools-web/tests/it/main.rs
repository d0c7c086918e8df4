//! Integration tests of `jackfield-tools-web`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail the test"
)]

mod answers;
mod calls;
mod config;
mod contract;
mod internet;
mod pages;
mod template;
mod world;
