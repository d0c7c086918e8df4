//! The history of a session, for programs.

use jackfield_domain::block::{Content, ToolCall};
use jackfield_domain::fact::ModelCallEnd;
use jackfield_domain::ids::SessionId;
use jackfield_domain::late::LateOutcome;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::turn_log::{ForkOrigin, LogEntry, SessionLog, TurnLog, WaitLog};
use jackfield_engine::SessionRow;
use jackfield_export::values;
use serde_json::{Value, json};

use super::{SessionStatus, place, time};
use crate::render::words::Status;
use crate::render::{json, spent};

/// The whole history, for programs.
pub(super) fn session_json(
    session: &SessionId,
    row: Option<&SessionRow>,
    log: &SessionLog,
) -> Value {
    let forked = log
        .forked
        .as_ref()
        .map(|ForkOrigin { at, from, messages }| {
            let messages = messages.iter().flat_map(|message| message_entries(message));
            json!({
                "from": from.as_str(),
                "at": place(at.ordinal, at.round),
                "messages": messages.collect::<Vec<_>>(),
            })
        });
    json!({
        "id": session.as_str(),
        "title": row.map(|row| row.title.to_string()),
        "state": row.map(|row| SessionStatus::of(row).code()),
        "forked": forked,
        "turns": log.turns.iter().map(turn).collect::<Vec<_>>(),
    })
}

fn turn(turn: &TurnLog) -> Value {
    let opening = turn.new_messages();
    let opening = opening.iter().flat_map(|message| message_entries(message));
    let messages = opening.chain(turn.entries.iter().filter_map(entry));
    let waits = turn.open_waits().map(|WaitLog { wait, .. }| {
        json!({
            "id": wait.id.as_str(),
            "call": wait.call.as_str(),
            "kind": json::wait_kind(&wait.kind),
            "until": time(wait.deadline),
        })
    });
    let late = turn.calls.iter().flat_map(|known| {
        let one = |outcome| late(&known.call, outcome);
        known.late.iter().map(one)
    });
    json!({
        "turn": turn.turn.as_str(),
        "ordinal": turn.ordinal,
        "model": json::model(&turn.setup.model),
        "began": time(turn.began),
        "ended": turn.end().map(|(at, _)| time(at)),
        "end": turn.end().map(|(_, end)| json::end(end)),
        "resumed": turn.entries.iter().filter(|entry| matches!(entry, LogEntry::Resumed { .. })).count(),
        "usage": spent::of_usage(&turn.usage()),
        "messages": messages.collect::<Vec<_>>(),
        "lost": turn.entries.iter().filter_map(lost).collect::<Vec<_>>(),
        "waits": waits.collect::<Vec<_>>(),
        "late": late.collect::<Vec<_>>(),
    })
}

/// A failed attempt at a call, and its handling.
fn lost(entry: &LogEntry) -> Option<Value> {
    let LogEntry::CallLost {
        attempt,
        call,
        loss,
    } = entry
    else {
        return None;
    };
    Some(json!({
        "at": time(loss.at),
        "call": call.id.as_str(),
        "name": call.name.as_str(),
        "attempt": attempt,
        "message": loss.message,
        "then": values::after_loss(loss.then),
    }))
}

/// A late result of a call. Models do not see it.
fn late(call: &ToolCall, outcome: &LateOutcome) -> Value {
    json!({
        "at": time(outcome.at),
        "call": call.id.as_str(),
        "name": call.name.as_str(),
        "attempt": outcome.attempt.attempt,
        "is_error": outcome.is_error,
        "bytes": outcome.size,
        "text": outcome.text,
    })
}

fn entry(entry: &LogEntry) -> Option<Value> {
    match entry {
        LogEntry::ModelCallEnded {
            at, partial, why, ..
        } => {
            let (why, failure) = match why {
                ModelCallEnd::Cancelled => ("cancelled", None),
                ModelCallEnd::Failed(failure) => ("failed", Some(json::failure(failure))),
                ModelCallEnd::Lost => ("lost", None),
            };
            Some(json!({
                "role": "assistant",
                "at": time(*at),
                "text": partial.as_ref().map(|partial| partial.to_text()),
                "calls": [],
                "finish_reason": null,
                "why": why,
                "failure": failure,
            }))
        }
        // Included elsewhere in the document.
        LogEntry::CallLost { .. }
        | LogEntry::LateUsage { .. }
        | LogEntry::Resumed { .. }
        | LogEntry::TurnEnded { .. } => None,
        LogEntry::CallClosed { call, outcome } => {
            let result = &outcome.result;
            let closed = json!({
                "role": "tool",
                "at": time(outcome.at),
                "call": call.id.as_str(),
                "name": call.name.as_str(),
                "status": Status::from_end(outcome.end, result.is_error).code(),
                "duration_ms": outcome.took.map(json::millis),
            });
            Some(json::merge(closed, json::outcome(result)))
        }
        LogEntry::Reply { at, attempt, reply } => Some(json!({
            "role": "assistant",
            "at": time(*at),
            "round": attempt.round,
            "text": reply.message.to_text(),
            "calls": reply.message.calls().map(|call| call_entry(call)).collect::<Vec<_>>(),
            "finish_reason": json::finish(&reply.end.finish),
            "usage": reply.end.usage.as_ref().map(spent::of_usage),
        })),
    }
}

/// A message as it appears in a conversation.
fn message_entries(message: &Message) -> Vec<Value> {
    let text = message.to_text();
    match message.role {
        Role::Assistant => vec![json!({
            "role": "assistant",
            "text": text,
            "calls": message.calls().map(|call| call_entry(call)).collect::<Vec<_>>(),
        })],
        Role::System => vec![json!({ "role": "system", "text": text })],
        Role::Tool => {
            let outcomes = message
                .blocks
                .iter()
                .filter_map(|block| match &block.content {
                    Content::ToolOutcome(outcome) => {
                        let call = json!({ "role": "tool", "call": outcome.call.as_str() });
                        Some(json::merge(call, json::outcome(&outcome.result)))
                    }
                    Content::Audio(_)
                    | Content::Document(_)
                    | Content::Image(_)
                    | Content::Opaque(_)
                    | Content::Refusal(_)
                    | Content::Text(_)
                    | Content::Thinking(_)
                    | Content::ToolCall(_) => None,
                });
            outcomes.collect()
        }
        Role::User => {
            let is_file = |content: &Content| {
                matches!(
                    content,
                    Content::Audio(_) | Content::Document(_) | Content::Image(_)
                )
            };
            let blocks = message.blocks.iter();
            let files = blocks.filter(|block| is_file(&block.content)).count();
            vec![json!({ "role": "user", "text": text, "files": files })]
        }
    }
}

fn call_entry(call: &ToolCall) -> Value {
    json!({
        "id": call.id.as_str(),
        "name": call.name.as_str(),
        "arguments": json::arguments(&call.input),
    })
}
