//! Integration tests of `jackfield-provider-bedrock`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail the test, and change only what a manner is about"
)]

mod cache_points;
mod echo;
mod errors;
mod frames;
mod harness;
mod laws;
mod properties;
mod reading;
mod rendering;
mod replies;
mod requests;
mod signing;
mod stop_sequences;

/// The contract of `ChatModel`, for a model of Claude.
mod contract {
    use crate::harness::BedrockHarness;

    jackfield_testkit::chat_model_contract!(BedrockHarness);
}
