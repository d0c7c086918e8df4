//! Converts session events to API events. Each has a cursor, so that a subscriber that reconnects with it gets
//! each event exactly once.

use jackfield_domain::cursor::Cursor;
use jackfield_domain::fact::{Compaction, Envelope, Fact};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolCallId, TurnId};
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::setup::Setup;
use jackfield_domain::text_event::{TextEvent, TextEventKind, TextKind, TextStart};
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::turn_log::TurnLog;
use jackfield_domain::wait::WaitEnd;
use jackfield_export::values;
use jackfield_gateway::Gateway;

use jackfield_engine::EngineError;

use super::story;
use super::wire::approval::answer_kind;
use super::wire::blocks::{BlockView, MessageView};
use super::wire::events::{
    BlockEnded, BlockStarted, CallEnded, CallLost, CallMoved, CompactedView, EventView, Forked,
    Imported, ReplyBroken, ReplyTold, RoundStarted, TextTold, TurnEnded, TurnResumed, TurnStarted,
    WaitEnded,
};
use super::wire::given::GivenView;
use super::wire::session::{ForkedView, ImportedView};
use super::wire::turn::{CostView, FailureView, NoteView, UsageView, WaitView};

/// Converts the events of one session. It tracks the current turn, which later events refer to.
#[derive(Debug)]
pub(crate) struct SessionEvents {
    /// Whether all events of the last step were received: only then is the tracked state stable.
    step_complete: bool,
    session: SessionId,
    turn: Option<TurnLog>,
    /// Calls that must be closed before the turn counts as at rest: those that were just answered.
    awaited_calls: Vec<ToolCallId>,
}

impl SessionEvents {
    /// Converts the events of a session after a cursor. The steps so far are known, and produce no events.
    pub(crate) fn after_cursor(session: SessionId, steps: &[Envelope], cursor: Cursor) -> Self {
        let mut events = Self {
            step_complete: true,
            session,
            turn: None,
            awaited_calls: Vec::new(),
        };
        let known = usize::try_from(cursor.facts()).unwrap_or(usize::MAX);
        let facts = steps
            .iter()
            .flat_map(|step| step.facts.iter().map(|fact| (fact, step.now)));
        for (fact, now) in facts.take(known) {
            TurnLog::track(&mut events.turn, fact, now);
        }
        events
    }

    /// Converts the events of a session from the opening of a turn on.
    pub(crate) const fn for_turn(session: SessionId) -> Self {
        Self {
            step_complete: true,
            session,
            turn: None,
            awaited_calls: Vec::new(),
        }
    }

    /// Delays the rest state of the turn until these calls are closed.
    pub(crate) fn awaiting(mut self, calls: Vec<ToolCallId>) -> Self {
        self.awaited_calls = calls;
        self
    }

    pub(crate) const fn turn(&self) -> Option<&TurnLog> {
        self.turn.as_ref()
    }

    /// Whether the current turn is this one and at rest: it is over, or only waits for an answer from outside.
    pub(crate) fn is_idle(&self, turn: &TurnId) -> bool {
        let its = self.turn.as_ref().filter(|log| log.turn == *turn);
        its.is_some_and(|log| {
            // An unknown call counts as closed.
            let is_closed = |call| log.call(call).is_none_or(|call| call.outcome().is_some());
            let are_closed = || self.awaited_calls.iter().all(is_closed);
            log.end().is_some() || (self.step_complete && log.only_waits() && are_closed())
        })
    }

    /// Whether a turn at rest waits for a person. If there is an approver, the driver stays until the approver
    /// has left the decision to a person.
    pub(crate) async fn is_left_to_person(&self, gateway: &Gateway) -> Result<bool, EngineError> {
        let engine = gateway.engine();
        let is_over = |turn: &TurnLog| turn.end().is_some();
        if self.turn.as_ref().is_some_and(is_over) || !engine.has_approver() {
            return Ok(true);
        }
        let row = engine.session(&self.session).await?;
        Ok(row.is_none_or(|row| !row.owned))
    }

    /// The API event for a session event; `None` if another one of the same step covers it.
    pub(crate) fn convert(&mut self, event: SessionEvent) -> Option<EventView> {
        match event {
            SessionEvent::Fact { fact, is_last, now } => {
                self.step_complete = is_last;
                TurnLog::track(&mut self.turn, &fact, now);
                self.convert_fact(&fact, now)
            }
            SessionEvent::Superseded { fact, now, .. } => {
                TurnLog::track(&mut self.turn, &fact, now);
                broken_reply(&fact, now).map(EventView::Superseded)
            }
            SessionEvent::Text { attempt, piece } => Some(text_event(attempt, piece)),
        }
    }

    fn convert_fact(&self, fact: &Fact, now: Now) -> Option<EventView> {
        Some(match fact {
            Fact::CallAccepted { attempt, .. } => EventView::CallAccepted(CallMoved {
                call: attempt.call.to_string(),
                attempt: attempt.attempt,
            }),
            Fact::CallClosed { call, .. } => {
                let call = story::find_call(self.turn.as_ref()?, call)?;
                EventView::CallEnded(CallEnded { call })
            }
            Fact::CallLost {
                attempt,
                disposition,
                kind,
                message,
                then,
            } => EventView::CallLost(CallLost {
                call: attempt.call.to_string(),
                attempt: attempt.attempt,
                kind: kind.as_str().to_owned(),
                message: message.to_string(),
                disposition: disposition.as_str().to_owned(),
                then: then.as_str().to_owned(),
            }),
            Fact::CallStarted { attempt, .. } => EventView::CallStarted(CallMoved {
                call: attempt.call.to_string(),
                attempt: attempt.attempt,
            }),
            // Neither changes an earlier event: late results, and what only later model calls see.
            Fact::BackendSession { .. } | Fact::Late(_) => return None,
            Fact::Compacted(compaction) => {
                let setup = self.turn.as_ref().map(|turn| &turn.setup);
                EventView::Compacted(compacted(compaction, setup.map(|setup| &**setup)))
            }
            Fact::ModelCallEnded { .. } => EventView::ReplyFailed(broken_reply(fact, now)?),
            Fact::ModelCallStarted { attempt, tools, .. } => {
                let (tools_allowed, why_not) = values::tool_use(*tools);
                EventView::RoundStarted(RoundStarted {
                    round: attempt.round,
                    attempt: attempt.attempt,
                    tools_allowed,
                    why_not: why_not.map(str::to_owned),
                })
            }
            Fact::ReplyReceived { attempt, reply, .. } => EventView::Reply(ReplyTold {
                round: attempt.round,
                attempt: attempt.attempt,
                message: MessageView {
                    at: Some(now.wall.to_rfc3339()),
                    round: Some(attempt.round),
                    finish: Some(values::finish(&reply.end.finish).to_owned()),
                    ..MessageView::from_message(&reply.message)
                },
                usage: reply.end.usage.as_ref().map(UsageView::from),
                notes: reply.end.notes.iter().map(NoteView::from).collect(),
            }),
            Fact::SessionForked {
                at, from, messages, ..
            } => EventView::Forked(Forked {
                from: ForkedView {
                    session: from.to_string(),
                    turn: at.ordinal,
                    round: at.round,
                },
                messages: messages
                    .iter()
                    .map(|message| MessageView::from_message(message))
                    .collect(),
            }),
            Fact::SessionImported {
                created,
                messages,
                source,
                ..
            } => EventView::Imported(Imported {
                from: ImportedView {
                    source: source.to_string(),
                    created: created.map(WallTime::to_rfc3339),
                },
                messages: messages
                    .iter()
                    .map(|message| MessageView::from_message(message))
                    .collect(),
            }),
            Fact::TurnEnded { .. } => EventView::TurnEnded(TurnEnded {
                turn: story::view(self.turn.as_ref()?, &self.session),
            }),
            Fact::TurnOpened { setup, .. } => {
                let turn = story::view(self.turn.as_ref()?, &self.session);
                let tools = setup.catalog.offered();
                EventView::TurnStarted(TurnStarted {
                    turn: turn.id,
                    number: turn.number,
                    model: turn.model,
                    tools: tools.map(|tool| tool.definition.name.to_string()).collect(),
                    given: GivenView::of(setup),
                    messages: turn.messages,
                })
            }
            Fact::TurnResumed { nth, .. } => EventView::TurnResumed(TurnResumed { times: *nth }),
            Fact::WaitClosed { end, wait, .. } => EventView::WaitEnded(WaitEnded {
                id: wait.to_string(),
                how: end.kind().as_str().to_owned(),
                by: match end {
                    WaitEnd::Answered { by, .. } => Some(by.to_string()),
                    WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => None,
                },
                at: now.wall.to_rfc3339(),
                answer: answer_kind(end),
            }),
            Fact::WaitOpened { wait } => EventView::WaitStarted(WaitView::from_wait(wait)),
        })
    }
}

/// A reply that broke off.
fn compacted(compaction: &Compaction, setup: Option<&Setup>) -> CompactedView {
    let failure = compaction.failure.as_ref().and_then(FailureView::of);
    let messages = compaction.messages.iter();
    let why_not = compaction.failure.as_ref().map(values::model_call_end);
    let cost = setup.and_then(|setup| compaction.cost(setup));
    CompactedView {
        round: compaction.attempt.round,
        replaced: compaction.replaced as u64,
        messages: messages
            .map(|message| MessageView::from_message(message))
            .collect(),
        why_not: why_not.map(str::to_owned),
        failure,
        usage: compaction.usage.as_ref().map(UsageView::from),
        cost: cost.as_ref().map(CostView::from),
    }
}

fn broken_reply(fact: &Fact, now: Now) -> Option<ReplyBroken> {
    let Fact::ModelCallEnded {
        attempt,
        partial,
        retry_at,
        why,
        ..
    } = fact
    else {
        return None;
    };
    let failure = FailureView::of(why);
    let why = values::model_call_end(why);
    Some(ReplyBroken {
        round: attempt.round,
        attempt: attempt.attempt,
        why: why.to_owned(),
        failure,
        after_ms: retry_at.map(|at| values::millis(at.since(now.wall))),
        partial: partial
            .as_ref()
            .filter(|_| retry_at.is_none() && why != "lost")
            .map(|partial| MessageView::from_message(partial)),
    })
}

/// A text event of a reply.
fn text_event(attempt: ModelAttempt, piece: TextEvent) -> EventView {
    let ModelAttempt { round, attempt } = attempt;
    let TextEvent {
        block, kind: said, ..
    } = piece;
    match said {
        TextEventKind::Started(started) => {
            let mut event = BlockStarted {
                round,
                attempt,
                block,
                kind: String::new(),
                call: None,
                name: None,
                whole: None,
            };
            let kind = match started {
                TextStart::Call { id, name, .. } => {
                    event.call = Some(id.to_string());
                    event.name = Some(name.as_str().to_owned());
                    "tool_call"
                }
                TextStart::Refusal => "refusal",
                TextStart::Text { .. } => "text",
                TextStart::Thinking { .. } => "thinking",
                TextStart::Whole(content) => {
                    event.whole = Some(BlockView::from_content(&content));
                    "whole"
                }
            };
            kind.clone_into(&mut event.kind);
            EventView::BlockStarted(event)
        }
        TextEventKind::Text { kind: of, text } => EventView::Text(TextTold {
            round,
            attempt,
            block,
            kind: match of {
                TextKind::Arguments => "arguments",
                TextKind::Refusal => "refusal",
                TextKind::Text => "text",
                TextKind::Thinking => "thinking",
            }
            .to_owned(),
            text: text.to_string(),
            html: None,
        }),
        TextEventKind::Ended { .. } => EventView::BlockEnded(BlockEnded {
            round,
            attempt,
            block,
        }),
    }
}
