//! Integration tests of `jackfield-provider-ollama`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail the test, and change only what a manner is about"
)]

mod echo;
mod harness;
mod laws;
mod reading;
mod rendering;
mod replies;
mod requests;

/// The contract of `ChatModel`.
mod contract {
    use crate::harness::OllamaHarness;

    jackfield_testkit::chat_model_contract!(OllamaHarness, except: {
        malformed_arguments_are_kept_as_text =>
            "arguments are a JSON object on the wire; a call that cannot be parsed is an error of the server",
        truncated_arguments_are_not_repaired =>
            "arguments are a JSON object on the wire, and come whole or not at all",
    });
}
