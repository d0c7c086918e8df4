//! The history of a session, to be read: what was said and done, turn by turn, and how each turn ended.
//!
//! The messages of a [`Session`](crate::session::Session) are what a model is sent; this is what has
//! happened, with the time, and with what no model is told.

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

/// What has happened in a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// What it is a fork of, if it is one.
    pub forked: Option<ForkOrigin>,
    /// The turns, in order.
    pub turns: Vec<PastTurn>,
}

/// What a session is a fork of.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkOrigin {
    /// Where the other session was forked.
    pub at: ForkPlace,
    /// The other session.
    pub from: SessionId,
    /// What was said until then.
    pub messages: Arc<Vec<Arc<Message>>>,
}

/// A turn, as it went.
#[derive(Clone, Debug, PartialEq)]
pub struct PastTurn {
    /// When it began.
    pub began: WallTime,
    /// How it ended, and when, if it has.
    pub end: Option<(TurnEnd, WallTime)>,
    /// What was said and done, in order.
    pub entries: Vec<HistoryEntry>,
    /// What came of its calls after they had been given up.
    pub late: Vec<PastLate>,
    /// The model.
    pub model: ModelRef,
    /// Its place in the session, from 1.
    pub ordinal: u32,
    /// Its id.
    pub turn: TurnId,
    /// What its model calls used, all together; a count that came late stands in place of its estimate.
    pub usage: Usage,
    /// The questions to somebody outside that are open.
    pub waits: Vec<Wait>,
}

/// What came of a call after it had been given up.
#[derive(Clone, Debug, PartialEq)]
pub struct PastLate {
    /// The call.
    pub call: Arc<ToolCall>,
    /// What came.
    pub outcome: LateOutcome,
}

/// Something that was said or done in a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryEntry {
    /// A message that the turn began with.
    Brought(Arc<Message>),
    /// A model call ended without a reply.
    Failed {
        /// When.
        at: WallTime,
        /// What it had said, as far as that is kept.
        partial: Option<Arc<Message>>,
        /// Why.
        why: ModelCallEnd,
    },
    /// A try at a call came to no outcome.
    Lost {
        /// When.
        at: WallTime,
        /// Which try, from 1.
        attempt: u32,
        /// The call.
        call: Arc<ToolCall>,
        /// What happened, in a sentence.
        message: Arc<str>,
        /// What was done about it.
        then: AfterLoss,
    },
    /// A call has its outcome.
    Outcome {
        /// When.
        at: WallTime,
        /// The call.
        call: Arc<ToolCall>,
        /// How it came to it.
        end: CallEnd,
        /// All of the outcome that is kept.
        result: Arc<ToolResult>,
        /// How long the call took, if one process saw both ends of it.
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
    /// A process took the turn up that another one had left.
    Resumed {
        /// When.
        at: WallTime,
        /// How often that had happened by then.
        nth: u32,
    },
}

impl History {
    /// The history that these steps and deliveries tell.
    #[must_use]
    pub fn of(steps: &[Envelope], deliveries: &[Delivery]) -> Self {
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
                reader.read(fact, step.now);
            }
        }
        reader.history
    }
}

#[derive(Default)]
struct HistoryReader {
    calls: Vec<TurnCall>,
    history: History,
    /// What came late of calls that have not been told yet.
    late: BTreeMap<ToolCallId, Vec<LateOutcome>>,
    /// What each model call of the turn used.
    used: BTreeMap<ModelAttempt, Usage>,
}

/// A call of the turn.
struct TurnCall {
    call: Arc<ToolCall>,
    started: Option<MonoTime>,
}

impl HistoryReader {
    fn read(&mut self, fact: &Fact, now: Now) {
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
                entries: brought(opening, *ordinal)
                    .map(HistoryEntry::Brought)
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
            *used = used.settled(usage);
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
            Fact::ReplyReceived { attempt, reply } => {
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
            // Another process has another clock.
            Fact::TurnResumed { nth, .. } => {
                turn.entries.push(HistoryEntry::Resumed { at, nth: *nth });
                for known in &mut self.calls {
                    known.started = None;
                }
            }
            Fact::WaitClosed { wait, .. } => turn.waits.retain(|open| open.id != *wait),
            Fact::WaitOpened { wait } => turn.waits.push(wait.clone()),
            Fact::CallAccepted { .. }
            | Fact::Late(_)
            | Fact::ModelCallStarted { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnOpened { .. } => {}
        }
    }
}

/// The messages that a turn brings: of a whole conversation, which is brought again with each turn, all of
/// them the first time and then the last one.
fn brought(opening: &Opening, ordinal: u32) -> impl Iterator<Item = Arc<Message>> {
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
