//! The slices: what a user does, with the real binary as a process in front of a scripted server.
//!
//! A slice that is named after a scenario begins with its number: `s1_06_…` is 1.6.

#![expect(
    clippy::expect_used,
    reason = "a slice that cannot go on has to fail the test"
)]

mod asking;
mod bad_input;
mod harness;
mod interrupting;
mod limits;
mod prompting;
