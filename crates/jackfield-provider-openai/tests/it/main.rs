//! Integration tests of `jackfield-provider-openai`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]

mod bytes;
mod chat;
mod config;
mod connections;
mod echo;
mod harness;
mod recordings;
mod requests;
mod responses;
mod upstream;

/// The contract of `ChatModel`, for Responses.
mod contract_of_responses {
    use crate::responses::ResponsesHarness;

    jackfield_testkit::chat_model_contract!(ResponsesHarness);
}

/// The contract of `ChatModel`, for Chat Completions of OpenAI.
mod contract_of_chat {
    use crate::chat::ChatHarness;

    jackfield_testkit::chat_model_contract!(ChatHarness::OpenAi);
}

/// The contract of `ChatModel`, for Chat Completions of a server that wants its reasoning back.
mod contract_of_deepseek {
    use crate::chat::ChatHarness;

    jackfield_testkit::chat_model_contract!(ChatHarness::DeepSeek);
}

/// The contract of `Upstream`, for OpenAI.
mod contract_of_upstream {
    use crate::upstream::OpenAiUpstream;

    jackfield_testkit::upstream_contract!(OpenAiUpstream::OpenAi);
}

/// The contract of `Upstream`, for a compatible server.
mod contract_of_compatible_upstream {
    use crate::upstream::OpenAiUpstream;

    jackfield_testkit::upstream_contract!(OpenAiUpstream::Compatible);
}
