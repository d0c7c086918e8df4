//! Turns as API views, including turns in progress.

use jackfield_domain::ids::{SessionId, ToolCallId};
use jackfield_domain::message::Role;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::setup::Opening;
use jackfield_domain::turn_log::{CallLog, LogEntry, TurnLog};
use jackfield_export::values;
use jackfield_export::words::Status;

use super::wire::blocks::{BlockView, MessageView, ResultView, arguments};
use super::wire::turn::{
    CachedCallView, CallView, CostView, EndView, NoteView, OriginView, TurnView, UsageView,
    WaitView,
};

/// The turn as an API view.
pub(crate) fn view(turn: &TurnLog, session: &SessionId) -> TurnView {
    let (end, cost) = (turn.end(), turn.cost());
    let waits = turn.open_waits();
    TurnView {
        id: turn.turn.to_string(),
        session: session.to_string(),
        number: turn.ordinal,
        status: values::turn_status(turn).to_owned(),
        end: end.map(|(_, end)| EndView::from_end(end)),
        answer: turn.answer(),
        model: values::model(turn.model()),
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
        notes: turn.notes().into_iter().map(NoteView::from).collect(),
    }
}

/// A call of a turn as an API view.
pub(crate) fn find_call(turn: &TurnLog, id: &ToolCallId) -> Option<CallView> {
    turn.call(id).map(|call| call_view(turn, call))
}

fn call_view(turn: &TurnLog, log: &CallLog) -> CallView {
    let call = &log.call;
    let origin = turn.tool(call).map(|tool| &tool.origin);
    let result = log.outcome().map(|(_, result)| result);
    let status = Status::of_call(turn, log);
    let closed = log.closed.as_ref();
    let took = closed.and_then(|closed| closed.took);
    let cached = closed.and_then(|closed| closed.cached.as_deref());
    CallView {
        id: call.id.to_string(),
        name: call.name.as_str().to_owned(),
        source: OriginView {
            ran_by: turn.ran_by(call).as_str().to_owned(),
            server: origin.map(|origin| origin.toolbox.to_string()),
            tool: origin.map(|origin| origin.tool.to_string()),
        },
        round: log.round,
        arguments: arguments(&call.input),
        edited_arguments: log.edited().map(|edited| arguments(edited)),
        status: status.code().to_owned(),
        success: result.map(|_| status == Status::Done),
        attempts: log.attempts.last().map_or(0, |last| last.number),
        cached: cached.map(CachedCallView::from),
        duration_ms: took.map(values::millis),
        result: result.map(ResultView::from_result),
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
    messages.extend(turn.entries.iter().filter_map(|entry| {
        let (at, attempt, finish) = match entry {
            LogEntry::CallClosed {
                call,
                outcome: closed,
            } => {
                return Some(outcome(&call.id, &closed.result));
            }
            LogEntry::ModelCallEnded {
                at, attempt, why, ..
            } => (at, attempt, values::model_call_end(why)),
            LogEntry::Reply { at, attempt, reply } => {
                (at, attempt, values::finish(&reply.end.finish))
            }
            LogEntry::CallLost { .. }
            | LogEntry::Compacted { .. }
            | LogEntry::LateUsage { .. }
            | LogEntry::Resumed { .. }
            | LogEntry::TargetChosen { .. }
            | LogEntry::TurnEnded { .. } => return None,
        };
        Some(MessageView {
            at: Some(at.to_rfc3339()),
            round: Some(attempt.round),
            finish: Some(finish.to_owned()),
            ..MessageView::from_message(entry.standing_message()?)
        })
    }));
    messages
}

fn outcome(call: &ToolCallId, result: &ToolResult) -> MessageView {
    let block = BlockView::ToolResult {
        id: call.to_string(),
        result: ResultView::from_result(result),
    };
    MessageView {
        role: Role::Tool.as_str().to_owned(),
        blocks: vec![block],
        at: None,
        round: None,
        finish: None,
    }
}
