//! The adapter with a strict stand-in for the `claude` program, in front of a scripted Claude.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail the test, and change only what a manner is about"
)]

mod calls;
mod contract;
mod failures;
mod harness;
mod lines;
mod permissions;
mod resuming;
mod turns;
