//! Kinds and reasons of the domain in the words of the API, which never change.

use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::fact::{CallEnd, ToolUse};
use jackfield_domain::failure::{Disposition, ModelFailureKind, ToolFailureKind};
use jackfield_domain::limits::LimitKind;
use jackfield_domain::message::Role;
use jackfield_domain::note::{NoteEffect, NoteKind};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::request::ModelRef;
use jackfield_domain::tool::Safety;
use jackfield_domain::wait::{WaitEndKind, WaitKind};

/// A model, as it is asked for.
pub(crate) fn model(model: &ModelRef) -> String {
    format!("{}/{}", model.provider, model.model)
}

/// Milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Who runs a tool.
pub(crate) const fn ran_by(ran_by: RanBy) -> &'static str {
    match ran_by {
        RanBy::Client => "client",
        RanBy::Engine => "engine",
        RanBy::Provider => "provider",
    }
}

/// Who a message is from.
pub(crate) const fn role(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Tool => "tool",
        Role::User => "user",
    }
}

/// How a call that ended came out.
pub(crate) const fn status(end: CallEnd, is_error: bool) -> &'static str {
    match end {
        CallEnd::Cancelled => "cancelled",
        CallEnd::Denied => "denied",
        CallEnd::ClientExpired | CallEnd::NotRun => "not_run",
        CallEnd::Reported => "unknown",
        CallEnd::ByClient | CallEnd::Ran => {
            if is_error {
                "failed"
            } else {
                "done"
            }
        }
    }
}

/// Why a reply ended.
pub(crate) fn finish(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::ContentFilter => "content_filter",
        FinishReason::ContextFull => "context_full",
        FinishReason::Length => "length",
        FinishReason::Paused => "paused",
        FinishReason::Refused => "refused",
        FinishReason::Stop => "stop",
        FinishReason::StopSequence(_) => "stop_sequence",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Unrecognized(reason) => reason,
    }
}

/// What happened to a model call.
pub(crate) const fn model_failure(kind: ModelFailureKind) -> &'static str {
    match kind {
        ModelFailureKind::ContextTooLong { .. } => "context_too_long",
        ModelFailureKind::Forbidden => "forbidden",
        ModelFailureKind::Interrupted => "interrupted",
        ModelFailureKind::InvalidRequest => "invalid_request",
        ModelFailureKind::ModelNotFound => "model_not_found",
        ModelFailureKind::Overloaded => "overloaded",
        ModelFailureKind::ProtocolViolation => "protocol_violation",
        ModelFailureKind::RateLimited => "rate_limited",
        ModelFailureKind::Timeout => "timeout",
        ModelFailureKind::Transport => "transport",
        ModelFailureKind::Unauthenticated => "unauthenticated",
        ModelFailureKind::Unsupported => "unsupported",
    }
}

/// What happened to a tool call.
pub(crate) const fn tool_failure(kind: ToolFailureKind) -> &'static str {
    match kind {
        ToolFailureKind::Cancelled => "cancelled",
        ToolFailureKind::Crashed => "crashed",
        ToolFailureKind::InvalidArguments => "invalid_arguments",
        ToolFailureKind::ProtocolViolation => "protocol_violation",
        ToolFailureKind::Timeout => "timeout",
        ToolFailureKind::Unavailable => "unavailable",
        ToolFailureKind::UnknownTool => "unknown_tool",
    }
}

/// What is known of a call's effects.
pub(crate) const fn disposition(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Landed => "landed",
        Disposition::NotSent => "not_sent",
        Disposition::Unknown => "unknown",
    }
}

/// Which limit was met.
pub(crate) const fn limit(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::ActiveTime => "active_time",
        LimitKind::Cost => "cost",
        LimitKind::NoProgress => "no_progress",
        LimitKind::Rounds => "rounds",
        LimitKind::Tokens => "tokens",
    }
}

/// Whether tools may be used in a round, and why not.
pub(crate) const fn tool_use(tools: ToolUse) -> (bool, Option<&'static str>) {
    match tools {
        ToolUse::Allowed => (true, None),
        ToolUse::FirstRoundOnly => (false, Some("first_round_only")),
        ToolUse::LastRound(kind) => (false, Some(limit(kind))),
    }
}

/// What is asked.
pub(crate) const fn wait_kind(kind: &WaitKind) -> &'static str {
    match kind {
        WaitKind::Approval { .. } => "approval",
        WaitKind::ClientResult => "client_result",
        WaitKind::Elicitation { .. } => "elicitation",
        WaitKind::UnknownOutcome => "unknown_outcome",
    }
}

/// How a question ended.
pub(crate) const fn wait_end(kind: WaitEndKind) -> &'static str {
    match kind {
        WaitEndKind::Answered => "answered",
        WaitEndKind::Cancelled => "cancelled",
        WaitEndKind::Expired => "expired",
        WaitEndKind::Superseded => "superseded",
    }
}

/// What was done about a value that does not fit.
pub(crate) const fn note_kind(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Approximated => "approximated",
        NoteKind::Carried => "carried",
        NoteKind::Dropped => "dropped",
        NoteKind::Refused => "refused",
    }
}

/// What suffers by a difference.
pub(crate) const fn note_effect(effect: NoteEffect) -> &'static str {
    match effect {
        NoteEffect::Cosmetic => "cosmetic",
        NoteEffect::Cost => "cost",
        NoteEffect::Meaning => "meaning",
        NoteEffect::Quality => "quality",
    }
}

/// What is known of a tool's effects.
pub(crate) const fn safety(safety: Safety) -> &'static str {
    match safety {
        Safety::Idempotent => "idempotent",
        Safety::ReadOnly => "read_only",
        Safety::Unknown => "unknown",
    }
}
