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
mod refused_fields;
mod requests;
mod responses;
mod text;
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

/// The contract of `ChatModel`, for a model whose tools are text.
mod contract_of_text {
    use crate::text::TextHarness;

    jackfield_testkit::chat_model_contract!(TextHarness, except: {
        malformed_arguments_are_kept_as_text => "a call that is not complete in its form stays text",
        text_after_calls_is_kept => "the blanks next to a call are part of its form",
        tool_calls_keep_upstream_ids_names_and_order => "a call in a text has no id",
        tools_are_sent_whole => "the tools are JSON within a text, and the test looks for their words as they are",
        truncated_arguments_are_not_repaired => "a reply that was cut off has no calls",
    });
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
