//! Integration tests of `jackfield-provider-claude`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail the test, and change only what a manner is about"
)]

mod bytes;
mod config;
mod connections;
mod echo;
mod harness;
mod rendering;
mod requests;
mod upstream;

/// The contract of `ChatModel`, for the newest models.
mod contract {
    use crate::harness::ClaudeHarness;

    jackfield_testkit::chat_model_contract!(ClaudeHarness);
}

/// The contract of `Upstream`.
mod contract_of_upstream {
    use crate::upstream::ClaudeUpstream;

    jackfield_testkit::upstream_contract!(ClaudeUpstream);
}
