//! The history of a session, for programs.

use jackfield_domain::block::{Content, ToolCall};
use jackfield_domain::fact::ModelCallEnd;
use jackfield_domain::history::{ForkOrigin, History, HistoryEntry, PastLate, PastTurn};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::{Message, Role};
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
    history: &History,
) -> Value {
    let forked = history
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
        "turns": history.turns.iter().map(turn).collect::<Vec<_>>(),
    })
}

fn turn(turn: &PastTurn) -> Value {
    let waits = turn.waits.iter().map(|wait| {
        json!({
            "id": wait.id.as_str(),
            "call": wait.call.as_str(),
            "kind": json::wait_kind(&wait.kind),
            "until": time(wait.deadline),
        })
    });
    json!({
        "turn": turn.turn.as_str(),
        "ordinal": turn.ordinal,
        "model": json::model(&turn.model),
        "began": time(turn.began),
        "ended": turn.end.as_ref().map(|(_, at)| time(*at)),
        "end": turn.end.as_ref().map(|(end, _)| json::end(end)),
        "resumed": turn.entries.iter().filter(|entry| matches!(entry, HistoryEntry::Resumed { .. })).count(),
        "usage": spent::of_usage(&turn.usage),
        "messages": turn.entries.iter().flat_map(entry).collect::<Vec<_>>(),
        "lost": turn.entries.iter().filter_map(lost).collect::<Vec<_>>(),
        "waits": waits.collect::<Vec<_>>(),
        "late": turn.late.iter().map(late).collect::<Vec<_>>(),
    })
}

/// A failed attempt at a call, and its handling.
fn lost(entry: &HistoryEntry) -> Option<Value> {
    let HistoryEntry::Lost {
        at,
        attempt,
        call,
        message,
        then,
    } = entry
    else {
        return None;
    };
    Some(json!({
        "at": time(*at),
        "call": call.id.as_str(),
        "name": call.name.as_str(),
        "attempt": attempt,
        "message": message,
        "then": values::after_loss(*then),
    }))
}

/// A late result of a call. Models do not see it.
fn late(late: &PastLate) -> Value {
    let PastLate { call, outcome } = late;
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

fn entry(entry: &HistoryEntry) -> Vec<Value> {
    match entry {
        HistoryEntry::Opening(message) => message_entries(message),
        HistoryEntry::Failed { at, partial, why } => {
            let (why, failure) = match why {
                ModelCallEnd::Cancelled => ("cancelled", None),
                ModelCallEnd::Failed(failure) => ("failed", Some(json::failure(failure))),
                ModelCallEnd::Lost => ("lost", None),
            };
            vec![json!({
                "role": "assistant",
                "at": time(*at),
                "text": partial.as_ref().map(|partial| partial.to_text()),
                "calls": [],
                "finish_reason": null,
                "why": why,
                "failure": failure,
            })]
        }
        // Included elsewhere in the document.
        HistoryEntry::Lost { .. } | HistoryEntry::Resumed { .. } => Vec::new(),
        HistoryEntry::Outcome {
            at,
            call,
            end,
            result,
            took,
        } => {
            let outcome = json!({
                "role": "tool",
                "at": time(*at),
                "call": call.id.as_str(),
                "name": call.name.as_str(),
                "status": Status::from_end(*end, result.is_error).code(),
                "duration_ms": took.map(json::millis),
            });
            vec![json::merge(outcome, json::outcome(result))]
        }
        HistoryEntry::Reply { at, reply, round } => vec![json!({
            "role": "assistant",
            "at": time(*at),
            "round": round,
            "text": reply.message.to_text(),
            "calls": reply.message.calls().map(|call| call_entry(call)).collect::<Vec<_>>(),
            "finish_reason": json::finish(&reply.end.finish),
            "usage": reply.end.usage.as_ref().map(spent::of_usage),
        })],
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
