//! Integration tests of `jackfield-provider-claude`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]

mod bytes;
mod config;
mod connections;
mod harness;
mod requests;

/// The contract of `ChatModel`, for the newest models.
mod contract {
    use crate::harness::ClaudeHarness;

    jackfield_testkit::chat_model_contract!(ClaudeHarness);
}
