//! Integration tests of `jackfield-provider-gemini`.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail the test, and change only what a manner is about"
)]

mod echo;
mod harness;
mod rendering;
mod requests;
mod upstream;
mod vertex;

/// The contract of `Upstream`.
mod contract_of_upstream {
    use crate::upstream::GeminiUpstream;

    jackfield_testkit::upstream_contract!(GeminiUpstream);
}

/// The contract of `ChatModel`, for the newest models.
mod contract {
    use crate::harness::GeminiHarness;

    jackfield_testkit::chat_model_contract!(GeminiHarness, except: {
        malformed_arguments_are_kept_as_text =>
            "arguments are a JSON object on the wire; what the model wrote wrongly ends the reply as MALFORMED_FUNCTION_CALL",
        truncated_arguments_are_not_repaired =>
            "arguments are a JSON object on the wire, and come whole or not at all",
    });
}
