//! Mapping of finish reasons and usage.

use jackfield_domain::failure::{ModelFailure, ModelFailureKind};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;

use crate::responses::wire;

/// Contents of a reply that its status does not show.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContentFlags {
    /// A call for the client or for Jackfield.
    pub(crate) call: bool,
    /// The model's explanation of a refusal.
    pub(crate) refusal: bool,
}

/// The finish reason for a status other than `failed`.
pub(crate) fn finish_reason(
    status: &str,
    details: Option<&wire::IncompleteDetails>,
    flags: ContentFlags,
) -> FinishReason {
    match status {
        "completed" if flags.call => FinishReason::ToolCalls,
        "completed" if flags.refusal => FinishReason::Refused,
        "completed" => FinishReason::Stop,
        "incomplete" => match details.and_then(|details| details.reason.as_deref()) {
            Some("content_filter") => FinishReason::ContentFilter,
            Some("max_output_tokens") => FinishReason::Length,
            Some(other) => FinishReason::Unrecognized(other.into()),
            None => FinishReason::Unrecognized("incomplete".into()),
        },
        other => FinishReason::Unrecognized(other.into()),
    }
}

/// The totals and their details.
pub(crate) const fn usage_to_wire(usage: &Usage) -> wire::Usage {
    wire::Usage {
        input_tokens: Some(usage.input),
        input_tokens_details: Some(wire::InputTokensDetails {
            cache_write_tokens: Some(usage.cache_write),
            cached_tokens: Some(usage.cache_read),
        }),
        output_tokens: Some(usage.output),
        output_tokens_details: Some(wire::OutputTokensDetails {
            reasoning_tokens: Some(usage.reasoning),
        }),
        total_tokens: Some(usage.total()),
    }
}

/// The status for a finish reason, and why the response is incomplete.
pub(crate) fn status(
    reason: &FinishReason,
    flags: ContentFlags,
) -> (&'static str, Option<wire::IncompleteDetails>) {
    let because = |reason: &str| {
        let reason = Some(reason.to_owned());
        ("incomplete", Some(wire::IncompleteDetails { reason }))
    };
    match reason {
        FinishReason::ContentFilter => because("content_filter"),
        // Where no part of it says so, it would look like an answer.
        FinishReason::Refused if !flags.refusal => because("content_filter"),
        // A client cannot tell them apart: there was no room for more.
        FinishReason::ContextFull | FinishReason::Length => because("max_output_tokens"),
        FinishReason::Paused
        | FinishReason::Refused
        | FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls => ("completed", None),
        FinishReason::Unrecognized(word) => because(word),
    }
}

/// The error of a failed response, by the few codes that the vendor has for it.
pub(crate) fn error_to_wire(failure: &ModelFailure) -> wire::ResponseError {
    let code = match failure.kind {
        ModelFailureKind::ContentFilter
        | ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::ModelNotFound
        | ModelFailureKind::TooLarge
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported => "invalid_prompt",
        ModelFailureKind::BudgetExhausted | ModelFailureKind::RateLimited => "rate_limit_exceeded",
        ModelFailureKind::BudgetUnavailable
        | ModelFailureKind::Forbidden
        | ModelFailureKind::Interrupted
        | ModelFailureKind::Overloaded
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::ServerError
        | ModelFailureKind::Timeout
        | ModelFailureKind::Transport
        | ModelFailureKind::Unauthenticated
        | ModelFailureKind::UnusableReply => "server_error",
    };
    wire::ResponseError {
        code: code.to_owned(),
        message: failure.message.clone(),
    }
}
