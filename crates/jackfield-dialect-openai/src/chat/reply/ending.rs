//! Mapping of finish reasons and usage.

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;

use crate::chat::wire;

/// The contents of a reply on which its finish reason depends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContentFlags {
    pub(crate) calls: bool,
    pub(crate) refusal: bool,
}

/// The finish reason for a `finish_reason`; `None` is a stream that ended without one.
///
/// The presence of calls decides about `ToolCalls`: servers send `stop` with calls (OpenAI itself for a named tool)
/// and `tool_calls` without any (vLLM). The reason of a truncated reply is kept.
pub(crate) fn finish_reason(reason: Option<&str>, flags: ContentFlags) -> FinishReason {
    match reason.unwrap_or("stop") {
        "content_filter" => FinishReason::ContentFilter,
        "length" | "max_tokens" => FinishReason::Length,
        // Mistral
        "model_length" => FinishReason::ContextFull,
        _ if flags.calls => FinishReason::ToolCalls,
        "end_turn" | "eos" | "eos_token" | "function_call" | "stop" | "stop_sequence"
        | "tool_call" | "tool_calls" => {
            if flags.refusal {
                FinishReason::Refused
            } else {
                FinishReason::Stop
            }
        }
        "refusal" => FinishReason::Refused,
        unknown => FinishReason::Unrecognized(unknown.into()),
    }
}

/// The `finish_reason` for a reason: one of the vendor's values, as SDKs branch on it.
pub(crate) fn finish_word(reason: &FinishReason, flags: ContentFlags) -> &'static str {
    match reason {
        FinishReason::ContentFilter => "content_filter",
        // Also with calls: those of such a reply are not run.
        FinishReason::Refused if !flags.refusal => "content_filter",
        FinishReason::ContextFull | FinishReason::Length => "length",
        _ if flags.calls => "tool_calls",
        FinishReason::Paused
        | FinishReason::Refused
        | FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls
        | FinishReason::Unrecognized(_) => "stop",
    }
}

/// Usage in the vendor's form.
pub(crate) fn usage_to_wire(usage: &Usage) -> wire::Usage {
    wire::Usage {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.total(),
        prompt_tokens_details: Some(wire::PromptTokensDetails {
            cached_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
        }),
        completion_tokens_details: Some(wire::CompletionTokensDetails {
            reasoning_tokens: usage.reasoning,
        }),
    }
}
