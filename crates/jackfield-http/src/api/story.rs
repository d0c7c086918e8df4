//! Turns as API views, including turns in progress.

use std::collections::BTreeSet;

use jackfield_domain::block::RanBy;
use jackfield_domain::fact::{CallEnd, ModelCallEnd};
use jackfield_domain::ids::{SessionId, ToolCallId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::setup::Opening;
use jackfield_domain::turn_log::{CallLog, LogEntry, TurnLog};

use super::wire::blocks::{BlockView, MessageView, ResultView, arguments};
use super::wire::turn::{
    CallView, CostView, EndView, NoteView, OriginView, TurnView, UsageView, WaitView,
};
use super::wire::words;

/// The turn as an API view.
pub(crate) fn view(turn: &TurnLog, session: &SessionId) -> TurnView {
    let (end, cost) = (turn.end(), turn.cost());
    let waits = turn.open_waits();
    TurnView {
        id: turn.turn.to_string(),
        session: session.to_string(),
        number: turn.ordinal,
        status: status(turn).to_owned(),
        end: end.map(|(_, end)| EndView::from_end(end)),
        answer: answer(turn),
        model: words::model(&turn.setup.model),
        began: turn.began.to_rfc3339(),
        ended: end.map(|(at, _)| at.to_rfc3339()),
        rounds: turn.rounds,
        resumed: turn.resumed,
        messages: messages(turn),
        calls: turn
            .calls
            .iter()
            .map(|call| call_view(turn, call))
            .collect(),
        waits: waits.map(|open| WaitView::from_wait(&open.wait)).collect(),
        usage: UsageView::from(&turn.usage()),
        cost: cost.as_ref().map(CostView::from),
        notes: notes(turn),
    }
}

/// Whether a turn is open and only waits for answers from outside.
pub(crate) fn only_waits(turn: &TurnLog) -> bool {
    let open = || turn.calls.iter().filter(|call| !is_closed(call));
    turn.end().is_none()
        && !turn.is_calling_model
        && open().next().is_some()
        && open().all(|call| is_asked(turn, call))
}

/// Whether a call has its result.
pub(crate) const fn is_closed(call: &CallLog) -> bool {
    call.closed.is_some() || call.provided.is_some()
}

/// A call of a turn as an API view.
pub(crate) fn find_call(turn: &TurnLog, id: &ToolCallId) -> Option<CallView> {
    turn.call(id).map(|call| call_view(turn, call))
}

fn is_asked(turn: &TurnLog, call: &CallLog) -> bool {
    turn.open_waits().any(|open| open.wait.call == call.call.id)
}

fn status(turn: &TurnLog) -> &'static str {
    if turn.end().is_some() {
        "ended"
    } else if only_waits(turn) {
        "waiting"
    } else {
        "running"
    }
}

fn call_view(turn: &TurnLog, log: &CallLog) -> CallView {
    let call = &log.call;
    let tool = turn.tool(call);
    let origin = tool.map(|tool| &tool.origin);
    let ran_by = tool.map_or(call.ran_by, |tool| match call.ran_by {
        RanBy::Provider => RanBy::Provider,
        RanBy::Client | RanBy::Engine => tool.ran_by,
    });
    let closed = log.closed.as_ref();
    let (end, result) = match (closed, &log.provided) {
        (Some(closed), _) => (closed.end, Some(&*closed.result)),
        (None, provided) => (CallEnd::Ran, provided.as_ref().map(|given| &given.result)),
    };
    let status = match result {
        Some(result) => words::status(end, result.is_error),
        None if is_asked(turn, log) => "waiting",
        None if !log.attempts.is_empty() => "running",
        None => "queued",
    };
    CallView {
        id: call.id.to_string(),
        name: call.name.as_str().to_owned(),
        source: OriginView {
            ran_by: words::ran_by(ran_by).to_owned(),
            server: origin.map(|origin| origin.toolbox.to_string()),
            tool: origin.map(|origin| origin.tool.to_string()),
        },
        round: log.round,
        arguments: arguments(&call.input),
        edited_arguments: log.edited().map(|edited| arguments(edited)),
        status: status.to_owned(),
        success: result.map(|_| status == "done"),
        attempts: log.attempts.last().map_or(0, |last| last.number),
        duration_ms: closed.and_then(|closed| closed.took).map(words::millis),
        result: result.map(ResultView::from_result),
    }
}

/// The text of the last reply that stands.
fn answer(turn: &TurnLog) -> String {
    let mut replies = turn.entries.iter().rev().filter_map(standing_reply);
    replies
        .next()
        .map(|(message, _)| message.to_text())
        .unwrap_or_default()
}

/// The message of a reply that stands, and its finish. A reply that is retried or was lost does not.
fn standing_reply(entry: &LogEntry) -> Option<(&Message, &str)> {
    match entry {
        LogEntry::ModelCallEnded {
            partial,
            retry_at: None,
            why,
            ..
        } => {
            let how = match why {
                ModelCallEnd::Cancelled => "cancelled",
                ModelCallEnd::Failed(_) => "failed",
                ModelCallEnd::Lost => return None,
            };
            partial.as_deref().map(|partial| (partial, how))
        }
        LogEntry::Reply { reply, .. } => Some((&reply.message, words::finish(&reply.end.finish))),
        LogEntry::CallClosed { .. }
        | LogEntry::CallLost { .. }
        | LogEntry::LateUsage { .. }
        | LogEntry::ModelCallEnded { .. }
        | LogEntry::Resumed { .. }
        | LogEntry::TurnEnded { .. } => None,
    }
}

/// The messages of a turn: its input, replies and results.
fn messages(turn: &TurnLog) -> Vec<MessageView> {
    let mut messages = match &turn.opening {
        Opening::ClientResults(results) => {
            let results = results.iter();
            results.map(|one| outcome(&one.call, &one.result)).collect()
        }
        Opening::Transcript(_) | Opening::UserMessage(_) => {
            let new = turn.new_messages();
            new.iter()
                .map(|message| MessageView::from_message(message))
                .collect::<Vec<_>>()
        }
    };
    messages.extend(turn.entries.iter().filter_map(|entry| match entry {
        LogEntry::CallClosed {
            call,
            outcome: closed,
        } => Some(outcome(&call.id, &closed.result)),
        LogEntry::ModelCallEnded { at, attempt, .. } | LogEntry::Reply { at, attempt, .. } => {
            let (message, finish) = standing_reply(entry)?;
            Some(MessageView {
                at: Some(at.to_rfc3339()),
                round: Some(attempt.round),
                finish: Some(finish.to_owned()),
                ..MessageView::from_message(message)
            })
        }
        LogEntry::CallLost { .. }
        | LogEntry::LateUsage { .. }
        | LogEntry::Resumed { .. }
        | LogEntry::TurnEnded { .. } => None,
    }));
    messages
}

/// The notes of all replies, each once.
fn notes(turn: &TurnLog) -> Vec<NoteView> {
    let mut seen = BTreeSet::new();
    let replies = turn.entries.iter().filter_map(LogEntry::reply);
    let notes = replies.flat_map(|reply| &reply.end.notes);
    let new = notes.filter(|note| seen.insert((note.code.to_string(), &note.path)));
    new.map(NoteView::from).collect()
}

/// A tool result as a message.
fn outcome(call: &ToolCallId, result: &ToolResult) -> MessageView {
    let block = BlockView::ToolResult {
        id: call.to_string(),
        result: ResultView::from_result(result),
    };
    MessageView {
        role: words::role(Role::Tool).to_owned(),
        blocks: vec![block],
        at: None,
        round: None,
        finish: None,
    }
}
