//! Why a reply ended, and what it used.

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;

use crate::responses::wire;

/// What was seen in a reply, which its status does not say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// A call that the vendor does not run.
    pub(crate) call: bool,
    /// Words for why the model will not.
    pub(crate) refusal: bool,
}

/// The reason for a status that is not `failed`.
pub(crate) fn finish_reason(
    status: &str,
    details: Option<&wire::IncompleteDetails>,
    seen: Seen,
) -> FinishReason {
    match status {
        "completed" if seen.call => FinishReason::ToolCalls,
        "completed" if seen.refusal => FinishReason::Refused,
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

/// Totals, as the wire has them too.
pub(crate) fn usage_from_wire(usage: &wire::Usage) -> Usage {
    let input = usage.input_tokens_details.unwrap_or_default();
    let output = usage.output_tokens_details.unwrap_or_default();
    Usage {
        cache_read: input.cached_tokens.unwrap_or(0),
        cache_write: input.cache_write_tokens.unwrap_or(0),
        input: usage.input_tokens.unwrap_or(0),
        output: usage.output_tokens.unwrap_or(0),
        reasoning: output.reasoning_tokens.unwrap_or(0),
    }
}
