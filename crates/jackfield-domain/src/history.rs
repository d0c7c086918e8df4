//! The readable history of a session: what happened in each turn, and how the turn ended.
//!
//! The messages of a [`Session`](crate::session::Session) are what a model receives. The history also has
//! times, and events that models do not see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::block::{Block, Content, ToolCall};
use crate::fact::{AfterLoss, CallEnd, Envelope, Fact, ModelCallEnd, TurnEnd};
use crate::fork::ForkPlace;
use crate::ids::{ModelAttempt, SessionId, ToolCallId, TurnId};
use crate::late::{self, LateOutcome};
use crate::message::{Message, Role};
use crate::outcome::ToolResult;
use crate::reply::Reply;
use crate::request::ModelRef;
use crate::setup::Opening;
use crate::time::{MonoTime, Now, WallTime};
use crate::usage::Usage;
use crate::wait::{Delivery, Wait};

/// The history of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The session that it is a fork of, if it is one.
    pub forked: Option<ForkOrigin>,
    /// The turns, in order.
    pub turns: Vec<PastTurn>,
}

/// The session that a session was forked from.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkOrigin {
    /// The place at which it was forked.
    pub at: ForkPlace,
    /// The other session.
    pub from: SessionId,
    /// Its messages up to that place.
    pub messages: Arc<Vec<Arc<Message>>>,
}

/// A turn of the history.
#[derive(Clone, Debug, PartialEq)]
pub struct PastTurn {
    /// When it began.
    pub began: WallTime,
    /// How and when it ended, if it has.
    pub end: Option<(TurnEnd, WallTime)>,
    /// Its entries, in order.
    pub entries: Vec<HistoryEntry>,
    /// Late outcomes of calls that were given up.
    pub late: Vec<PastLate>,
    /// The model.
    pub model: ModelRef,
    /// Its place in the session, from 1.
    pub ordinal: u32,
    /// Its id.
    pub turn: TurnId,
    /// The total usage of its model calls; a late count replaces its estimate.
    pub usage: Usage,
    /// Its open waits.
    pub waits: Vec<Wait>,
}

/// A late outcome of a call that was given up.
#[derive(Clone, Debug, PartialEq)]
pub struct PastLate {
    /// The call.
    pub call: Arc<ToolCall>,
    /// The outcome.
    pub outcome: LateOutcome,
}

/// An entry of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryEntry {
    /// A message of the turn's opening.
    Opening(Arc<Message>),
    /// A model call ended without a reply.
    Failed {
        /// When.
        at: WallTime,
        /// The text that it had produced, as far as stored.
        partial: Option<Arc<Message>>,
        /// Why.
        why: ModelCallEnd,
    },
    /// An attempt at a call ended without an outcome.
    Lost {
        /// When.
        at: WallTime,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The call.
        call: Arc<ToolCall>,
        /// The failure, in a sentence.
        message: Arc<str>,
        /// The decision about it.
        then: AfterLoss,
    },
    /// A call got its outcome.
    Outcome {
        /// When.
        at: WallTime,
        /// The call.
        call: Arc<ToolCall>,
        /// How it got the outcome.
        end: CallEnd,
        /// The stored part of the outcome.
        result: Arc<ToolResult>,
        /// The duration of the call, if one process saw both its start and its end.
        took: Option<Duration>,
    },
    /// A model replied.
    Reply {
        /// When.
        at: WallTime,
        /// The reply.
        reply: Arc<Reply>,
        /// The round.
        round: u32,
    },
    /// A process resumed a turn that another process had left.
    Resumed {
        /// When.
        at: WallTime,
        /// How many times the turn was resumed, including this one.
        nth: u32,
    },
}

impl History {
    /// The history of these steps and deliveries.
    #[must_use]
    pub fn from_steps(steps: &[Envelope], deliveries: &[Delivery]) -> Self {
        let mut reader = HistoryReader::default();
        for late in late::outcomes(steps, deliveries) {
            reader
                .late
                .entry(late.attempt.call.clone())
                .or_default()
                .push(late);
        }
        for step in steps {
            for fact in &step.facts {
                reader.apply(fact, step.now);
            }
        }
        reader.history
    }
}

#[derive(Default)]
struct HistoryReader {
    calls: Vec<TurnCall>,
    history: History,
    /// Late outcomes of calls that are not in the history yet.
    late: BTreeMap<ToolCallId, Vec<LateOutcome>>,
    /// The usage of each model call of the turn.
    used: BTreeMap<ModelAttempt, Usage>,
}

/// A call of the turn.
struct TurnCall {
    call: Arc<ToolCall>,
    started: Option<MonoTime>,
}

impl HistoryReader {
    fn apply(&mut self, fact: &Fact, now: Now) {
        let at = now.wall;
        if let Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn,
        } = fact
        {
            self.calls.clear();
            self.used.clear();
            self.history.turns.push(PastTurn {
                began: at,
                end: None,
                entries: opening_messages(opening, *ordinal)
                    .map(HistoryEntry::Opening)
                    .collect(),
                late: Vec::new(),
                model: setup.model.clone(),
                ordinal: *ordinal,
                turn: turn.clone(),
                usage: Usage::default(),
                waits: Vec::new(),
            });
            return;
        }
        if let Fact::SessionForked { at, from, messages } = fact {
            self.history.forked = Some(ForkOrigin {
                at: at.clone(),
                from: from.clone(),
                messages: Arc::clone(messages),
            });
            return;
        }
        let Some(turn) = self.history.turns.last_mut() else {
            return;
        };
        if let Some((attempt, usage)) = fact.usage() {
            let used = self.used.entry(attempt).or_insert(usage);
            *used = used.merge(usage);
            turn.usage = Usage::default();
            self.used.values().for_each(|used| turn.usage += *used);
        }
        match fact {
            Fact::CallClosed {
                call, end, result, ..
            } => {
                if let Some(known) = self.calls.iter().find(|known| known.call.id == *call) {
                    turn.entries.push(HistoryEntry::Outcome {
                        at,
                        call: Arc::clone(&known.call),
                        end: *end,
                        result: Arc::clone(result),
                        took: known.started.map(|started| now.mono.since(started)),
                    });
                }
            }
            Fact::CallLost {
                attempt,
                message,
                then,
                ..
            } => {
                let mut known = self.calls.iter();
                if let Some(known) = known.find(|known| known.call.id == attempt.call) {
                    turn.entries.push(HistoryEntry::Lost {
                        at,
                        attempt: attempt.attempt,
                        call: Arc::clone(&known.call),
                        message: Arc::clone(message),
                        then: *then,
                    });
                }
            }
            Fact::CallStarted { attempt, .. } => {
                let mut known = self.calls.iter_mut();
                if let Some(known) = known.find(|known| known.call.id == attempt.call) {
                    known.started = Some(now.mono);
                }
            }
            Fact::ModelCallEnded { partial, why, .. } => turn.entries.push(HistoryEntry::Failed {
                at,
                partial: partial.clone(),
                why: why.clone(),
            }),
            Fact::ReplyReceived { attempt, reply, .. } => {
                for call in reply.message.calls() {
                    self.calls.push(TurnCall {
                        call: Arc::clone(call),
                        started: None,
                    });
                    let late = self.late.remove(&call.id).unwrap_or_default();
                    turn.late.extend(late.into_iter().map(|outcome| PastLate {
                        call: Arc::clone(call),
                        outcome,
                    }));
                }
                turn.entries.push(HistoryEntry::Reply {
                    at,
                    reply: Arc::clone(reply),
                    round: attempt.round,
                });
            }
            Fact::TurnEnded { end, .. } => turn.end = Some((end.clone(), at)),
            // Another process has another monotonic clock.
            Fact::TurnResumed { nth, .. } => {
                turn.entries.push(HistoryEntry::Resumed { at, nth: *nth });
                for known in &mut self.calls {
                    known.started = None;
                }
            }
            Fact::WaitClosed { wait, .. } => turn.waits.retain(|open| open.id != *wait),
            Fact::WaitOpened { wait } => turn.waits.push(wait.clone()),
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::Late(_)
            | Fact::ModelCallStarted { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnOpened { .. } => {}
        }
    }
}

/// The messages that an opening adds. A client that keeps the conversation sends all of it with each turn: all
/// messages count in the first turn, and only the last one later.
fn opening_messages(opening: &Opening, ordinal: u32) -> impl Iterator<Item = Arc<Message>> {
    let messages = match opening {
        Opening::ClientResults(results) => {
            let blocks = results
                .iter()
                .map(|outcome| Block::from(Content::ToolOutcome(Arc::clone(outcome))));
            vec![Arc::new(Message::new(Role::Tool, blocks.collect()))]
        }
        Opening::Transcript(transcript) if ordinal > 1 => {
            transcript.messages().last().cloned().into_iter().collect()
        }
        Opening::Transcript(transcript) => transcript.messages().to_vec(),
        Opening::UserMessage(message) => vec![Arc::clone(message)],
    };
    messages.into_iter()
}
