//! JSON values for programs, the same in all documents and JSON lines.

use std::time::Duration;

use jackfield_domain::fact::{CachedCall, ModelCallEnd, ToolUse, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind};
use jackfield_domain::note::Note;
use jackfield_domain::price::Cost;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::request::ModelRef;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::turn_log::TurnLog;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{Answer, Approval, ElicitationAnswer, UnknownAnswer, WaitKind};
use serde_json::{Value, json};

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

#[must_use]
pub fn end(end: &TurnEnd) -> Value {
    let kind = end.as_str();
    match end {
        TurnEnd::Answered(reason) => json!({ "kind": kind, "finish": finish(reason) }),
        TurnEnd::Cancelled(why) => json!({ "kind": kind, "cause": why.as_str() }),
        TurnEnd::ClientExpired => json!({ "kind": kind }),
        TurnEnd::Failed(failed) | TurnEnd::Interrupted(failed) => {
            json!({ "kind": kind, "failure": failure(failed) })
        }
        TurnEnd::Limited { is_error, limit } => {
            json!({ "kind": kind, "limit": limit.as_str(), "is_error": is_error })
        }
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
    let told = json!({
        "currency": cost.currency,
        "amount": cost.amount.to_string(),
        "estimated": cost.estimated.to_string(),
    });
    match cost.listed {
        Some(listed) => merge(told, json!({ "listed": listed.to_string() })),
        None => told,
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

#[must_use]
pub fn failure(failure: &ModelFailure) -> Value {
    json!({ "kind": failure_kind(failure.kind), "message": failure.message })
}

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

/// The kind of an answer to a question.
#[must_use]
pub const fn answer(answer: &Answer) -> &'static str {
    match answer {
        Answer::Approval(Approval::Denied { .. }) => "denied",
        Answer::Approval(Approval::Granted { .. }) => "granted",
        Answer::ClientResult(_) => "result",
        Answer::Elicitation(ElicitationAnswer::Accepted(_)) => "accepted",
        Answer::Elicitation(ElicitationAnswer::Declined) => "declined",
        Answer::Elicitation(ElicitationAnswer::Dismissed) => "dismissed",
        Answer::UnknownOutcome(UnknownAnswer::Landed(_)) => "landed",
        Answer::UnknownOutcome(UnknownAnswer::Report) => "report",
        Answer::UnknownOutcome(UnknownAnswer::Retry) => "retry",
    }
}

/// Whether tools may be used in a round, and why not.
#[must_use]
pub const fn tool_use(tools: ToolUse) -> (bool, Option<&'static str>) {
    match tools {
        ToolUse::Allowed => (true, None),
        ToolUse::FirstRoundOnly => (false, Some("first_round_only")),
        ToolUse::LastRound(limit) => (false, Some(limit.as_str())),
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

#[must_use]
pub fn note(note: &Note) -> Value {
    json!({
        "code": note.code,
        "kind": note.kind.as_str(),
        "effect": note.effect.as_str(),
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
