//! A session for programs: one JSON form, as docs/cli.md describes. A turn has the fields of the API's `Turn`, by the
//! same names, and more.

use jackfield_domain::block::{Annotation, Block, Content};
use jackfield_domain::fact::{Compaction, ModelCallEnd};
use jackfield_domain::ids::{SessionId, ToolCallId};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::WallTime;
use jackfield_domain::turn_log::{
    AttemptLog, CallLog, ForkOrigin, ImportOrigin, LogEntry, SessionLog, TurnLog, WaitLog,
};
use jackfield_domain::wait::{
    Answer, Approval, ElicitationAnswer, UnknownAnswer, WaitEnd, WaitKind,
};
use serde_json::{Value, json};

use super::secrets::without_secrets_in;
use super::values::{self, merge};
use super::words::{self, Status};

pub(super) fn document(session: &SessionId, log: &SessionLog, redacted: bool) -> String {
    let mut document = self::session(session, log, redacted);
    if redacted {
        without_secrets_in(&mut document);
    }
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    words::escaped(text) + "\n"
}

/// A session as an object. `redacted` says whether private content was removed from the log.
#[must_use]
pub fn session(session: &SessionId, log: &SessionLog, redacted: bool) -> Value {
    let turns = log.turns.iter().map(|log| turn(session, log));
    json!({
        "format": "jackfield.session",
        "version": 2,
        "redacted": redacted,
        "session": session.as_str(),
        "forked_from": log.forked.as_ref().map(forked),
        "imported_from": log.imported.as_ref().map(imported),
        "before": log.before().map(|one| message(one)).collect::<Vec<_>>(),
        "turns": turns.collect::<Vec<_>>(),
    })
}

fn forked(forked: &ForkOrigin) -> Value {
    let origin = json!({
        "session": forked.from.as_str(),
        "turn": forked.at.ordinal,
        "round": forked.at.round,
    });
    match &forked.compaction {
        Some(compaction) => merge(origin, json!({ "compaction": compacted(compaction, None) })),
        None => origin,
    }
}

fn imported(imported: &ImportOrigin) -> Value {
    json!({
        "source": &*imported.source,
        "created": imported.created.map(WallTime::to_rfc3339),
    })
}

fn turn(session: &SessionId, turn: &TurnLog) -> Value {
    let tools = turn.setup.catalog.offered();
    let tools = tools.map(|tool| tool.definition.name.as_str());
    let waits = turn.open_waits().map(|open| {
        let call = json!({ "call": open.wait.call.as_str() });
        merge(call, wait(open))
    });
    json!({
        "id": turn.turn.as_str(),
        "session": session.as_str(),
        "number": turn.ordinal,
        "status": values::turn_status(turn),
        "end": turn.end().map(|(_, end)| values::end(end)),
        "answer": turn.answer(),
        "model": values::model(turn.model()),
        "route": turn.setup.route,
        "targets": turn.entries.iter().filter_map(target).collect::<Vec<_>>(),
        "began": turn.began.to_rfc3339(),
        "ended": turn.end().map(|(at, _)| at.to_rfc3339()),
        "rounds": turn.rounds,
        "resumed": turn.resumed,
        "system": turn.setup.system.render(),
        "tools": tools.collect::<Vec<_>>(),
        "messages": messages(turn),
        "compactions": turn.entries.iter().filter_map(|entry| compaction(turn, entry)).collect::<Vec<_>>(),
        "calls": turn.calls.iter().map(|known| call(turn, known)).collect::<Vec<_>>(),
        "waits": waits.collect::<Vec<_>>(),
        "usage": values::usage(&turn.usage()),
        "cost": turn.cost().as_ref().map(values::cost),
        "notes": turn.notes().into_iter().map(values::note).collect::<Vec<_>>(),
    })
}

/// The messages of a turn: its input, replies and results.
fn messages(turn: &TurnLog) -> Vec<Value> {
    let mut messages: Vec<Value> = match &turn.opening {
        Opening::ClientResults(results) => {
            let results = results.iter();
            results.map(|one| outcome(&one.call, &one.result)).collect()
        }
        Opening::Transcript(_) | Opening::UserMessage(_) => {
            let new = turn.new_messages();
            new.iter().map(|one| message(one)).collect()
        }
    };
    messages.extend(turn.entries.iter().filter_map(entry));
    messages
}

fn entry(entry: &LogEntry) -> Option<Value> {
    match entry {
        LogEntry::CallClosed { call, outcome } => Some(self::outcome(&call.id, &outcome.result)),
        LogEntry::ModelCallEnded {
            at,
            attempt,
            partial,
            retry_at,
            why,
        } => {
            let failure = match why {
                ModelCallEnd::Failed(failure) => Some(values::failure(failure)),
                ModelCallEnd::Cancelled | ModelCallEnd::Lost => None,
            };
            let blocks = partial.iter().flat_map(|message| &message.blocks);
            Some(json!({
                "role": "assistant",
                "blocks": blocks.map(block).collect::<Vec<_>>(),
                "at": at.to_rfc3339(),
                "round": attempt.round,
                "attempt": attempt.attempt,
                "finish": values::model_call_end(why),
                "failure": failure,
                // A reply that is retried or was lost is no part of the conversation.
                "superseded": retry_at.is_some() || *why == ModelCallEnd::Lost,
            }))
        }
        LogEntry::Reply { at, attempt, reply } => {
            let end = &reply.end;
            let more = json!({
                "at": at.to_rfc3339(),
                "round": attempt.round,
                "attempt": attempt.attempt,
                "finish": values::finish(&end.finish),
                "model": end.model,
                "usage": end.usage.as_ref().map(values::usage),
                "notes": end.notes.iter().map(values::note).collect::<Vec<_>>(),
            });
            Some(merge(message(&reply.message), more))
        }
        LogEntry::CallLost { .. }
        | LogEntry::Compacted { .. }
        | LogEntry::LateUsage { .. }
        | LogEntry::Resumed { .. }
        | LogEntry::TargetChosen { .. }
        | LogEntry::TurnEnded { .. } => None,
    }
}

/// A target that a route chose, or fell back to.
fn target(entry: &LogEntry) -> Option<Value> {
    let LogEntry::TargetChosen {
        at,
        attempt,
        choice,
        model,
        target: _,
    } = entry
    else {
        return None;
    };
    let breakers = choice.breakers.iter().map(|breaker| {
        json!({
            "target": breaker.target,
            "retry_at": breaker.retry_at.map(|at| at.to_rfc3339()),
        })
    });
    Some(json!({
        "at": at.to_rfc3339(),
        "round": attempt.round,
        "attempt": attempt.attempt,
        "model": values::model(model),
        "reason": choice.reason.as_str(),
        "breakers": breakers.collect::<Vec<_>>(),
    }))
}

/// A compaction: how many messages were replaced, and by which.
fn compaction(turn: &TurnLog, entry: &LogEntry) -> Option<Value> {
    let LogEntry::Compacted { at, compaction } = entry else {
        return None;
    };
    let when = json!({ "at": at.to_rfc3339(), "round": compaction.attempt.round });
    Some(merge(when, compacted(compaction, Some(&turn.setup))))
}

fn compacted(compaction: &Compaction, setup: Option<&Setup>) -> Value {
    let failure = match &compaction.failure {
        Some(ModelCallEnd::Failed(failure)) => Some(values::failure(failure)),
        Some(ModelCallEnd::Cancelled | ModelCallEnd::Lost) | None => None,
    };
    let cost = setup.and_then(|setup| compaction.cost(setup));
    json!({
        "replaced": compaction.replaced,
        "messages": compaction.messages.iter().map(|one| message(one)).collect::<Vec<_>>(),
        "why_not": compaction.failure.as_ref().map(values::model_call_end),
        "failure": failure,
        "usage": compaction.usage.as_ref().map(values::usage),
        "cost": cost.as_ref().map(values::cost),
    })
}

fn message(message: &Message) -> Value {
    json!({
        "role": message.role.as_str(),
        "blocks": message.blocks.iter().map(block).collect::<Vec<_>>(),
    })
}

/// A tool result as a message.
fn outcome(call: &ToolCallId, result: &ToolResult) -> Value {
    json!({ "role": Role::Tool.as_str(), "blocks": [result_block(call, result)] })
}

fn block(block: &Block) -> Value {
    match &block.content {
        Content::Audio(sound) => audio(sound),
        Content::Document(paper) => document_block(paper),
        Content::Image(picture) => image(picture),
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
            "ran_by": call.ran_by.as_str(),
        }),
        Content::ToolOutcome(outcome) => result_block(&outcome.call, &outcome.result),
    }
}

fn result_block(call: &ToolCallId, result: &ToolResult) -> Value {
    json!({ "type": "tool_result", "id": call.as_str(), "result": self::result(result) })
}

fn source(annotation: &Annotation) -> Value {
    json!({ "title": annotation.title, "url": annotation.url })
}

fn audio(audio: &Audio) -> Value {
    json!({ "type": "audio", "source": media(&audio.source), "transcript": audio.transcript })
}

fn document_block(document: &Document) -> Value {
    json!({
        "type": "document",
        "source": media(&document.source),
        "title": document.title,
        "context": document.context,
    })
}

fn image(image: &Image) -> Value {
    json!({ "type": "image", "source": media(&image.source) })
}

fn media(source: &MediaSource) -> Value {
    match source {
        MediaSource::Base64 { data, media_type } => {
            json!({ "media_type": media_type, "data": data })
        }
        MediaSource::File { id, .. } => json!({ "file": id }),
        MediaSource::Text(text) => json!({ "text": text }),
        MediaSource::Url(url) => json!({ "url": url }),
    }
}

fn call(turn: &TurnLog, known: &CallLog) -> Value {
    let call = &known.call;
    let origin = turn.tool(call).map(|tool| &tool.origin);
    let status = Status::of_call(turn, known);
    let result = known.outcome().map(|(_, result)| result);
    let closed = known.closed.as_ref();
    let took = closed.and_then(|closed| closed.took);
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
        "id": call.id.as_str(),
        "name": call.name.as_str(),
        "source": {
            "ran_by": turn.ran_by(call).as_str(),
            "server": origin.map(|origin| origin.toolbox.as_str()),
            "tool": origin.map(|origin| &*origin.tool),
        },
        "round": known.round,
        "arguments": values::arguments(&call.input),
        "edited_arguments": known.edited().map(|edited| values::arguments(edited)),
        "status": status.code(),
        "success": result.map(|_| status == Status::Done),
        "attempts": known.attempts.last().map_or(0, |last| last.number),
        "cached": closed.and_then(|closed| closed.cached.as_deref()).map(values::cached_call),
        "attempt_log": known.attempts.iter().map(attempt).collect::<Vec<_>>(),
        "questions": turn.waits_of(&call.id).map(wait).collect::<Vec<_>>(),
        "closed": closed.map(|closed| closed.at.to_rfc3339()),
        "duration_ms": took.map(values::millis),
        "shown_bytes": closed.and_then(|closed| closed.shown),
        "result": result.map(self::result),
        "late_outcomes": late.collect::<Vec<_>>(),
    })
}

fn attempt(this: &AttemptLog) -> Value {
    let lost = this.lost.as_ref().map(|lost| {
        json!({
            "at": lost.at.to_rfc3339(),
            "disposition": lost.disposition.as_str(),
            "kind": lost.kind.as_str(),
            "message": lost.message,
            "then": lost.then.as_str(),
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
        WaitKind::Approval { .. }
        | WaitKind::Budget { .. }
        | WaitKind::ClientResult
        | WaitKind::UnknownOutcome => None,
    };
    let ended = closed.as_ref().map(|(at, end)| {
        let how = json!({ "at": at.to_rfc3339(), "how": end.kind().as_str() });
        match end {
            WaitEnd::Answered { answer, by, .. } => {
                merge(merge(how, json!({ "by": by })), self::answer(answer))
            }
            WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => how,
        }
    });
    let told = json!({
        "id": wait.id.as_str(),
        "kind": values::wait_kind(&wait.kind),
        "question": question,
        "opened": at.to_rfc3339(),
        "expires": wait.deadline.to_rfc3339(),
        "ended": ended,
    });
    match &wait.kind {
        // These words are the gateway's own.
        WaitKind::Budget { message } => merge(told, json!({ "message": message })),
        WaitKind::Approval { .. }
        | WaitKind::ClientResult
        | WaitKind::Elicitation { .. }
        | WaitKind::UnknownOutcome => told,
    }
}

fn answer(answer: &Answer) -> Value {
    let more = match answer {
        Answer::Approval(Approval::Denied { reason }) => json!({ "reason": reason }),
        Answer::Approval(Approval::Granted { edited, .. }) => {
            json!({ "edited_arguments": edited.as_deref() })
        }
        Answer::ClientResult(client) => json!({ "result": result(&client.result) }),
        Answer::Elicitation(ElicitationAnswer::Accepted(value)) => json!({ "value": &**value }),
        Answer::UnknownOutcome(UnknownAnswer::Landed(landed)) => {
            json!({ "result": result(landed) })
        }
        Answer::Elicitation(ElicitationAnswer::Declined | ElicitationAnswer::Dismissed)
        | Answer::UnknownOutcome(UnknownAnswer::Report | UnknownAnswer::Retry) => json!({}),
    };
    merge(json!({ "answer": values::answer(answer) }), more)
}

fn result(result: &ToolResult) -> Value {
    let files = result.content.iter().filter_map(|part| match part {
        OutcomePart::Audio(sound) => Some(audio(sound)),
        OutcomePart::Document(paper) => Some(document_block(paper)),
        OutcomePart::Image(picture) => Some(image(picture)),
        OutcomePart::Text(_) => None,
    });
    json!({
        "is_error": result.is_error,
        "text": result.to_text(),
        "structured": result.structured.as_deref(),
        "files": files.collect::<Vec<_>>(),
    })
}
