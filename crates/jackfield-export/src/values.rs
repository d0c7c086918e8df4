//! JSON values for programs, the same in all documents and JSON lines.

use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::fact::{AfterLoss, CachedCall, InputKind, ModelCallEnd, TurnEnd};
use jackfield_domain::failure::{Disposition, ModelFailure, ModelFailureKind, ToolFailureKind};
use jackfield_domain::limits::LimitKind;
use jackfield_domain::message::Role;
use jackfield_domain::note::Note;
use jackfield_domain::price::Cost;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::request::ModelRef;
use jackfield_domain::target::TargetReason;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::turn_log::TurnLog;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{CancelCause, WaitEndKind, WaitKind};
use serde_json::{Value, json};

use crate::words;

/// The arguments as an object, or as the raw text if they are no object.
#[must_use]
pub fn arguments(input: &ToolInput) -> Value {
    match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => Value::Object(serde_json::Map::clone(fields)),
            Err(_) => json!(input.raw()),
        },
        ToolInput::Text(text) => json!(&**text),
    }
}

/// The end of a turn.
#[must_use]
pub fn end(end: &TurnEnd) -> Value {
    match end {
        TurnEnd::Answered(reason) => json!({ "kind": "answered", "finish": finish(reason) }),
        TurnEnd::Cancelled(why) => json!({ "kind": "cancelled", "cause": cause(*why) }),
        TurnEnd::ClientExpired => json!({ "kind": "client_expired" }),
        TurnEnd::Failed(failed) => json!({ "kind": "failed", "failure": failure(failed) }),
        TurnEnd::Interrupted(failed) => {
            json!({ "kind": "interrupted", "failure": failure(failed) })
        }
        TurnEnd::Limited { is_error, limit } => {
            json!({ "kind": "limited", "limit": limit_kind(*limit), "is_error": is_error })
        }
    }
}

/// The handling of an attempt without a result.
#[must_use]
pub const fn after_loss(then: AfterLoss) -> &'static str {
    match then {
        AfterLoss::Ask => "ask",
        AfterLoss::Repeat => "repeat",
        AfterLoss::Report => "report",
    }
}

/// The input of a step, by its stored name.
#[must_use]
pub const fn input_kind(input: InputKind) -> &'static str {
    match input {
        InputKind::Began => "began",
        InputKind::Delivered => "delivered",
        InputKind::Forked => "forked",
        InputKind::Recovered => "recovered",
        InputKind::ReplyDelta => "reply_delta",
        InputKind::ReplyEnded => "reply_ended",
        InputKind::ReplyFailed => "reply_failed",
        InputKind::ToolAccepted => "tool_accepted",
        InputKind::ToolAsked => "tool_asked",
        InputKind::ToolFailed => "tool_failed",
        InputKind::ToolFinished => "tool_finished",
        InputKind::Woke => "woke",
    }
}

/// The runner of a tool.
#[must_use]
pub const fn ran_by(ran_by: RanBy) -> &'static str {
    match ran_by {
        RanBy::Client => "client",
        RanBy::Engine => "engine",
        RanBy::Provider => "provider",
    }
}

/// The author of a message.
#[must_use]
pub const fn role(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Tool => "tool",
        Role::User => "user",
    }
}

/// The kind of a tool failure.
#[must_use]
pub const fn tool_failure(kind: ToolFailureKind) -> &'static str {
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

/// What is known about the effects of a failed call.
#[must_use]
pub const fn disposition(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Landed => "landed",
        Disposition::NotSent => "not_sent",
        Disposition::Unknown => "unknown",
    }
}

/// The state of a turn.
#[must_use]
pub fn turn_status(turn: &TurnLog) -> &'static str {
    if turn.end().is_some() {
        "ended"
    } else if turn.only_waits() {
        "waiting"
    } else {
        "running"
    }
}

/// A cost: exact decimal numbers, as texts.
#[must_use]
pub fn cost(cost: &Cost) -> Value {
    json!({
        "currency": cost.currency,
        "amount": cost.amount.to_string(),
        "estimated": cost.estimated.to_string(),
    })
}

/// The cause of a cancelled turn.
#[must_use]
pub const fn cause(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::Asked => "asked",
        CancelCause::Superseded => "superseded",
    }
}

/// How a model call ended without a reply.
#[must_use]
pub const fn model_call_end(end: &ModelCallEnd) -> &'static str {
    match end {
        ModelCallEnd::Cancelled => "cancelled",
        ModelCallEnd::Failed(_) => "failed",
        ModelCallEnd::Lost => "lost",
    }
}

/// The finish reason of a reply.
#[must_use]
pub fn finish(reason: &FinishReason) -> &str {
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

/// A model failure.
#[must_use]
pub fn failure(failure: &ModelFailure) -> Value {
    json!({ "kind": failure_kind(failure.kind), "message": failure.message })
}

/// The reason for a target.
#[must_use]
pub const fn target_reason(reason: TargetReason) -> &'static str {
    match reason {
        TargetReason::Affinity => "affinity",
        TargetReason::ContentFilter => "content_filter",
        TargetReason::ContextTooLong => "context_too_long",
        TargetReason::Fallback => "fallback",
        TargetReason::LastLeft => "last_left",
        TargetReason::Strategy => "strategy",
    }
}

/// The kind of a model failure.
#[must_use]
pub const fn failure_kind(kind: ModelFailureKind) -> &'static str {
    match kind {
        ModelFailureKind::BudgetExhausted => "budget_exhausted",
        ModelFailureKind::BudgetUnavailable => "budget_unavailable",
        ModelFailureKind::ContentFilter => "content_filter",
        ModelFailureKind::ContextTooLong { .. } => "context_too_long",
        ModelFailureKind::Forbidden => "forbidden",
        ModelFailureKind::Interrupted => "interrupted",
        ModelFailureKind::InvalidRequest => "invalid_request",
        ModelFailureKind::ModelNotFound => "model_not_found",
        ModelFailureKind::Overloaded => "overloaded",
        ModelFailureKind::ProtocolViolation => "protocol_violation",
        ModelFailureKind::RateLimited => "rate_limited",
        ModelFailureKind::ServerError => "server_error",
        ModelFailureKind::Timeout => "timeout",
        ModelFailureKind::TooLarge => "too_large",
        ModelFailureKind::ToolsUnsupported => "tools_unsupported",
        ModelFailureKind::Transport => "transport",
        ModelFailureKind::Unauthenticated => "unauthenticated",
        ModelFailureKind::Unsupported => "unsupported",
        ModelFailureKind::UnusableReply => "unusable_reply",
    }
}

/// A limit.
#[must_use]
pub const fn limit_kind(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::ActiveTime => "active_time",
        LimitKind::Cost => "cost",
        LimitKind::NoProgress => "no_progress",
        LimitKind::Rounds => "rounds",
        LimitKind::Tokens => "tokens",
    }
}

/// The kind of a question.
#[must_use]
pub const fn wait_kind(kind: &WaitKind) -> &'static str {
    match kind {
        WaitKind::Approval { .. } => "approval",
        WaitKind::Budget { .. } => "budget",
        WaitKind::ClientResult => "client_result",
        WaitKind::Elicitation { .. } => "elicitation",
        WaitKind::UnknownOutcome => "unknown_outcome",
    }
}

/// How a question ended.
#[must_use]
pub const fn wait_end(kind: WaitEndKind) -> &'static str {
    match kind {
        WaitEndKind::Answered => "answered",
        WaitEndKind::Cancelled => "cancelled",
        WaitEndKind::Expired => "expired",
        WaitEndKind::Superseded => "superseded",
    }
}

/// A duration in milliseconds.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The call that an outcome was copied from.
#[must_use]
pub fn cached_call(from: &CachedCall) -> Value {
    json!({
        "session": from.session.as_str(),
        "turn": from.turn.as_str(),
        "call": from.call.as_str(),
    })
}

/// A note.
#[must_use]
pub fn note(note: &Note) -> Value {
    json!({
        "code": note.code,
        "kind": words::note_kind(note.kind),
        "effect": words::note_effect(note.effect),
        "path": note.path,
    })
}

/// Merges the fields of the second object into the first.
#[must_use]
pub fn merge(mut first: Value, others: Value) -> Value {
    if let (Value::Object(first), Value::Object(others)) = (&mut first, others) {
        first.extend(others);
    }
    first
}

/// A model, as `provider/model`.
#[must_use]
pub fn model(model: &ModelRef) -> String {
    format!("{}/{}", model.provider, model.model)
}

/// The usage.
#[must_use]
pub fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "reasoning_tokens": usage.reasoning,
        "estimated_input_tokens": usage.estimated_input,
        "estimated_output_tokens": usage.estimated_output,
    })
}
