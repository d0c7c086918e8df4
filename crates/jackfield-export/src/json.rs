//! Exports a session for programs: one JSON document, as docs/cli.md describes.

use jackfield_domain::block::{Annotation, Block, Content};
use jackfield_domain::fact::ModelCallEnd;
use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::ids::SessionId;
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::turn_log::{
    AttemptLog, CallLog, ForkOrigin, LogEntry, SessionLog, TurnLog, WaitLog,
};
use jackfield_domain::wait::{
    Answer, Approval, ElicitationAnswer, UnknownAnswer, WaitEnd, WaitKind,
};
use serde_json::{Value, json};

use super::secrets::without_secrets_in;
use super::values::{self, merge};
use super::words::{self, Status};

/// The document.
pub(super) fn document(session: &SessionId, log: &SessionLog, redacted: bool) -> String {
    let mut document = json!({
        "format": "jackfield.session",
        "version": 1,
        "redacted": redacted,
        "session": session.as_str(),
        "forked_from": log.forked.as_ref().map(forked),
        "turns": log.turns.iter().map(turn).collect::<Vec<_>>(),
    });
    if redacted {
        without_secrets_in(&mut document);
    }
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    words::escaped(text) + "\n"
}

fn forked(forked: &ForkOrigin) -> Value {
    json!({
        "session": forked.from.as_str(),
        "turn": forked.at.ordinal,
        "round": forked.at.round,
        "messages": forked.messages.iter().map(|one| message(one)).collect::<Vec<_>>(),
    })
}

fn turn(turn: &TurnLog) -> Value {
    let tools = turn.setup.catalog.iter();
    let tools: Vec<&str> = tools.map(|tool| tool.definition.name.as_str()).collect();
    let opening = turn.opening_messages();
    let opening = opening.iter().map(|brought| message(brought));
    let messages = opening.chain(turn.entries.iter().filter_map(reply));
    json!({
        "turn": turn.turn.as_str(),
        "number": turn.ordinal,
        "began": turn.began.to_rfc3339(),
        "ended": turn.end().map(|(at, _)| at.to_rfc3339()),
        "end": turn.end().map(|(_, end)| values::end(end)),
        "resumed": turn.resumed,
        "model": values::model(&turn.setup.model),
        "system": turn.setup.system.render(),
        "tools": tools,
        "usage": values::usage(&turn.usage()),
        "messages": messages.collect::<Vec<_>>(),
        "calls": turn.calls.iter().map(|known| call(turn, known)).collect::<Vec<_>>(),
    })
}

/// A reply of the model, or what there is of it.
fn reply(entry: &LogEntry) -> Option<Value> {
    match entry {
        LogEntry::Reply { at, attempt, reply } => {
            let end = &reply.end;
            Some(merge(
                message(&reply.message),
                json!({
                    "at": at.to_rfc3339(),
                    "round": attempt.round,
                    "attempt": attempt.attempt,
                    "finish": values::finish(&end.finish),
                    "model": end.model,
                    "usage": end.usage.as_ref().map(values::usage),
                    "notes": end.notes.iter().map(values::note).collect::<Vec<_>>(),
                }),
            ))
        }
        LogEntry::ModelCallEnded {
            at,
            attempt,
            partial,
            retry_at,
            why,
        } => {
            let (why, failure) = match why {
                ModelCallEnd::Cancelled => ("cancelled", None),
                ModelCallEnd::Failed(failure) => ("failed", Some(values::failure(failure))),
                ModelCallEnd::Lost => ("lost", None),
            };
            let blocks = partial.iter().flat_map(|message| &message.blocks);
            Some(json!({
                "role": "assistant",
                "at": at.to_rfc3339(),
                "round": attempt.round,
                "attempt": attempt.attempt,
                // A reply that is retried or was lost is no part of the conversation.
                "superseded": retry_at.is_some() || why == "lost",
                "why": why,
                "failure": failure,
                "blocks": blocks.map(block).collect::<Vec<_>>(),
            }))
        }
        LogEntry::CallClosed { .. }
        | LogEntry::CallLost { .. }
        | LogEntry::LateUsage { .. }
        | LogEntry::Resumed { .. }
        | LogEntry::TurnEnded { .. } => None,
    }
}

fn message(message: &Message) -> Value {
    json!({
        "role": match message.role {
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Tool => "tool",
            Role::User => "user",
        },
        "blocks": message.blocks.iter().map(block).collect::<Vec<_>>(),
    })
}

fn block(block: &Block) -> Value {
    match &block.content {
        Content::Audio(audio) => merge(
            json!({ "type": "audio", "transcript": audio.transcript }),
            media(&audio.source),
        ),
        Content::Document(document) => merge(
            json!({ "type": "document", "title": document.title, "context": document.context }),
            media(&document.source),
        ),
        Content::Image(image) => merge(json!({ "type": "image" }), media(&image.source)),
        Content::Opaque(opaque) => json!({
            "type": "other",
            "kind": opaque.kind,
            "text": opaque.fallback,
        }),
        Content::Refusal(text) => json!({ "type": "refusal", "text": text }),
        Content::Text(text) => {
            let sources: Vec<Value> = text.annotations.iter().map(source).collect();
            json!({ "type": "text", "text": text.text, "sources": sources })
        }
        Content::Thinking(thinking) => json!({
            "type": "thinking",
            "text": thinking.text,
            "hidden": thinking.redacted,
        }),
        Content::ToolCall(call) => json!({
            "type": "tool_call",
            "id": call.id.as_str(),
            "name": call.name.as_str(),
            "arguments": values::arguments(&call.input),
        }),
        Content::ToolOutcome(outcome) => merge(
            json!({ "type": "tool_result", "id": outcome.call.as_str() }),
            result(&outcome.result),
        ),
    }
}

fn source(annotation: &Annotation) -> Value {
    json!({ "title": annotation.title, "url": annotation.url })
}

fn media(source: &MediaSource) -> Value {
    match source {
        MediaSource::Base64 { data, media_type } => {
            json!({ "media_type": media_type, "base64": data })
        }
        MediaSource::File { id, .. } => json!({ "file": id }),
        MediaSource::Text(text) => json!({ "media_type": "text/plain", "content": text }),
        MediaSource::Url(url) => json!({ "url": url }),
    }
}

fn call(turn: &TurnLog, known: &CallLog) -> Value {
    let closed = known.closed.as_ref();
    let status = closed.map(|closed| Status::from_end(closed.end, closed.result.is_error).code());
    let outcome = closed.map(|closed| {
        merge(
            json!({ "at": closed.at.to_rfc3339(), "shown_bytes": closed.shown }),
            result(&closed.result),
        )
    });
    let late = known.late.iter().map(|late| {
        json!({
            "at": late.at.to_rfc3339(),
            "attempt": late.attempt.attempt,
            "is_error": late.is_error,
            "bytes": late.size,
            "text": late.text,
        })
    });
    json!({
        "id": known.call.id.as_str(),
        "name": known.call.name.as_str(),
        "toolbox": turn.tool(&known.call).map(|tool| tool.origin.toolbox.as_str()),
        "arguments": values::arguments(&known.call.input),
        "status": status,
        "attempts": known.attempts.iter().map(attempt).collect::<Vec<_>>(),
        "questions": turn.waits_of(&known.call.id).map(wait).collect::<Vec<_>>(),
        "outcome": outcome,
        "late_outcomes": late.collect::<Vec<_>>(),
    })
}

fn attempt(this: &AttemptLog) -> Value {
    let lost = this.lost.as_ref().map(|lost| {
        json!({
            "at": lost.at.to_rfc3339(),
            "disposition": match lost.disposition {
                Disposition::Landed => "landed",
                Disposition::NotSent => "not_sent",
                Disposition::Unknown => "unknown",
            },
            "kind": match lost.kind {
                ToolFailureKind::Cancelled => "cancelled",
                ToolFailureKind::Crashed => "crashed",
                ToolFailureKind::InvalidArguments => "invalid_arguments",
                ToolFailureKind::ProtocolViolation => "protocol_violation",
                ToolFailureKind::Timeout => "timeout",
                ToolFailureKind::Unavailable => "unavailable",
                ToolFailureKind::UnknownTool => "unknown_tool",
            },
            "message": lost.message,
            "then": values::after_loss(lost.then),
        })
    });
    json!({
        "attempt": this.number,
        "started": this.at.to_rfc3339(),
        "edited_arguments": this.edited.as_deref().map(values::arguments),
        "accepted": this.accepted,
        "lost": lost,
    })
}

fn wait(
    WaitLog {
        at, closed, wait, ..
    }: &WaitLog,
) -> Value {
    let question = match &wait.kind {
        WaitKind::Elicitation { question, .. } => Some(&question.message),
        WaitKind::Approval { .. } | WaitKind::ClientResult | WaitKind::UnknownOutcome => None,
    };
    let ended = closed.as_ref().map(|(at, end)| {
        let how = json!({ "at": at.to_rfc3339(), "how": values::wait_end(end.kind()) });
        match end {
            WaitEnd::Answered { answer, by, .. } => {
                merge(merge(how, json!({ "by": by })), self::answer(answer))
            }
            WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => how,
        }
    });
    json!({
        "id": wait.id.as_str(),
        "kind": values::wait_kind(&wait.kind),
        "question": question,
        "opened": at.to_rfc3339(),
        "expires": wait.deadline.to_rfc3339(),
        "ended": ended,
    })
}

fn answer(answer: &Answer) -> Value {
    match answer {
        Answer::Approval(Approval::Denied { reason }) => {
            json!({ "answer": "denied", "reason": reason })
        }
        Answer::Approval(Approval::Granted { edited, .. }) => {
            json!({ "answer": "granted", "edited_arguments": edited.as_deref() })
        }
        Answer::ClientResult(given) => merge(json!({ "answer": "result" }), result(&given.result)),
        Answer::Elicitation(ElicitationAnswer::Accepted(value)) => {
            json!({ "answer": "accepted", "value": &**value })
        }
        Answer::Elicitation(ElicitationAnswer::Declined) => json!({ "answer": "declined" }),
        Answer::Elicitation(ElicitationAnswer::Dismissed) => json!({ "answer": "dismissed" }),
        Answer::UnknownOutcome(UnknownAnswer::Landed(landed)) => {
            merge(json!({ "answer": "landed" }), result(landed))
        }
        Answer::UnknownOutcome(UnknownAnswer::Report) => json!({ "answer": "report" }),
        Answer::UnknownOutcome(UnknownAnswer::Retry) => json!({ "answer": "retry" }),
    }
}

fn result(result: &ToolResult) -> Value {
    let content = result.content.iter().map(|part| match part {
        OutcomePart::Audio(audio) => merge(json!({ "type": "audio" }), media(&audio.source)),
        OutcomePart::Document(document) => merge(
            json!({ "type": "document", "title": document.title }),
            media(&document.source),
        ),
        OutcomePart::Image(image) => merge(json!({ "type": "image" }), media(&image.source)),
        OutcomePart::Text(text) => json!({ "type": "text", "text": text }),
    });
    json!({
        "is_error": result.is_error,
        "content": content.collect::<Vec<_>>(),
        "structured": result.structured.as_deref(),
    })
}
