//! The log of a turn, fact by fact.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{AttemptLog, AttemptLoss, CallLog, CallOutcome, WaitLog};
use crate::block::{Block, Content, RanBy, ToolCall};
use crate::fact::{Compaction, Fact, Late, ModelCallEnd, TurnEnd};
use crate::ids::{ModelAttempt, ToolCallId, TurnId};
use crate::message::{Message, Role};
use crate::outcome::ToolOutcome;
use crate::price::Cost;
use crate::reply::Reply;
use crate::request::ModelRef;
use crate::setup::{Opening, Setup};
use crate::target::{AttemptTargets, TargetChoice};
use crate::time::{Now, WallTime};
use crate::tool::CatalogEntry;
use crate::usage::Usage;

/// The log of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnLog {
    /// When it began.
    pub began: WallTime,
    /// Its calls, in order.
    pub calls: Vec<CallLog>,
    /// Its other events, in order.
    pub entries: Vec<LogEntry>,
    /// Whether a model call is in flight or will be retried.
    pub is_calling_model: bool,
    /// Its opening.
    pub opening: Opening,
    /// Its place in the session, from 1.
    pub ordinal: u32,
    /// How many times a process resumed it after another one.
    pub resumed: u32,
    /// The number of rounds.
    pub rounds: u32,
    /// Its setup.
    pub setup: Arc<Setup>,
    /// Its id.
    pub turn: TurnId,
    /// Its waits, in order.
    pub waits: Vec<WaitLog>,
    targets: AttemptTargets,
    usage: BTreeMap<ModelAttempt, Usage>,
}

/// An event of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEntry {
    /// A call got its outcome.
    CallClosed {
        /// The call.
        call: Arc<ToolCall>,
        /// The outcome.
        outcome: CallOutcome,
    },
    /// An attempt at a call ended without an outcome.
    CallLost {
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The call.
        call: Arc<ToolCall>,
        /// How.
        loss: AttemptLoss,
    },
    /// The beginning of the conversation was replaced by a summary, or the attempt at that failed.
    Compacted {
        /// When.
        at: WallTime,
        /// The replacement.
        compaction: Arc<Compaction>,
    },
    /// The usage of a model call arrived after the call was over.
    LateUsage {
        /// When.
        at: WallTime,
        /// The attempt.
        attempt: ModelAttempt,
        /// The usage.
        usage: Usage,
    },
    /// A model call ended without a reply.
    ModelCallEnded {
        /// When.
        at: WallTime,
        /// The attempt.
        attempt: ModelAttempt,
        /// The text that it had produced, as far as stored.
        partial: Option<Arc<Message>>,
        /// When it is retried, if it is.
        retry_at: Option<WallTime>,
        /// Why.
        why: ModelCallEnd,
    },
    /// A model replied.
    Reply {
        /// When.
        at: WallTime,
        /// The attempt.
        attempt: ModelAttempt,
        /// The reply.
        reply: Arc<Reply>,
    },
    /// A process resumed the turn after another one.
    Resumed {
        /// When.
        at: WallTime,
    },
    /// A model call began at a target that the turn's route chose, or fell back to.
    TargetChosen {
        /// When.
        at: WallTime,
        /// The attempt.
        attempt: ModelAttempt,
        /// Why, and the breakers that were not closed.
        choice: Arc<TargetChoice>,
        /// The model.
        model: ModelRef,
        /// The index of the target in the turn's targets.
        target: u32,
    },
    /// The turn ended. Only late events follow.
    TurnEnded {
        /// When.
        at: WallTime,
        /// How.
        end: TurnEnd,
    },
}

impl LogEntry {
    /// The reply, if it is one.
    #[must_use]
    pub fn reply(&self) -> Option<&Reply> {
        if let Self::Reply { reply, .. } = self {
            Some(reply)
        } else {
            None
        }
    }
}

impl TurnLog {
    /// The model that was called last; before the first call, the model of the first target.
    #[must_use]
    pub fn model(&self) -> &ModelRef {
        let model = self.setup.model_of(self.targets.last());
        model.unwrap_or(&self.setup.model)
    }

    /// Applies a fact to the log of a session's last turn: an opening begins a new one.
    pub fn track(last: &mut Option<Self>, fact: &Fact, now: Now) {
        if let Some(opened) = Self::open(fact, now.wall) {
            *last = Some(opened);
        } else if let Some(turn) = last {
            turn.apply(fact, now);
        }
    }

    /// The log of the turn that this fact opens, if it opens one.
    pub(super) fn open(fact: &Fact, at: WallTime) -> Option<Self> {
        let Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn,
        } = fact
        else {
            return None;
        };
        Some(Self {
            began: at,
            calls: Vec::new(),
            entries: Vec::new(),
            is_calling_model: false,
            opening: opening.clone(),
            ordinal: *ordinal,
            resumed: 0,
            rounds: 0,
            setup: Arc::clone(setup),
            targets: AttemptTargets::default(),
            turn: turn.clone(),
            usage: BTreeMap::new(),
            waits: Vec::new(),
        })
    }

    /// Applies a later fact of the turn.
    pub(super) fn apply(&mut self, fact: &Fact, now: Now) {
        let at = now.wall;
        if let Some((attempt, usage)) = fact.usage() {
            let used = self.usage.entry(attempt).or_insert(usage);
            *used = used.merge(usage);
        }
        match fact {
            Fact::CallAccepted { attempt, .. } => {
                let call = self.call_mut(&attempt.call);
                if let Some(started) = call.and_then(|call| call.attempts.last_mut()) {
                    started.accepted = true;
                }
            }
            Fact::CallClosed {
                cached,
                call,
                end,
                result,
                shown,
                revealed: _,
            } => {
                if let Some(known) = self.call_mut(call) {
                    let outcome = CallOutcome {
                        at,
                        cached: cached.clone(),
                        end: *end,
                        result: Arc::clone(result),
                        shown: *shown,
                        took: known.started.map(|started| now.mono.since(started)),
                    };
                    known.closed = Some(outcome.clone());
                    let call = Arc::clone(&known.call);
                    self.entries.push(LogEntry::CallClosed { call, outcome });
                }
            }
            Fact::CallLost {
                attempt,
                disposition,
                kind,
                message,
                then,
            } => {
                if let Some(known) = self.call_mut(&attempt.call) {
                    let loss = AttemptLoss {
                        at,
                        disposition: *disposition,
                        kind: *kind,
                        message: Arc::clone(message),
                        then: *then,
                    };
                    if let Some(last) = known.attempts.last_mut() {
                        last.lost = Some(loss.clone());
                    }
                    let call = Arc::clone(&known.call);
                    let attempt = attempt.attempt;
                    self.entries.push(LogEntry::CallLost {
                        attempt,
                        call,
                        loss,
                    });
                }
            }
            Fact::CallStarted {
                approval,
                attempt,
                edited,
                time_limit,
                ..
            } => {
                if let Some(call) = self.call_mut(&attempt.call) {
                    call.started = Some(now.mono);
                    call.attempts.push(AttemptLog {
                        accepted: false,
                        approval: approval.clone(),
                        at,
                        edited: edited.clone(),
                        lost: None,
                        number: attempt.attempt,
                        time_limit: *time_limit,
                    });
                }
            }
            Fact::Late(Late::Usage { attempt, usage }) => self.entries.push(LogEntry::LateUsage {
                at,
                attempt: *attempt,
                usage: *usage,
            }),
            Fact::Compacted(compaction) => {
                self.targets.add_compaction(compaction.attempt);
                self.entries.push(LogEntry::Compacted {
                    at,
                    compaction: Arc::clone(compaction),
                });
            }
            Fact::ModelCallEnded {
                attempt,
                partial,
                retry_at,
                why,
                ..
            } => {
                self.is_calling_model = retry_at.is_some();
                self.entries.push(LogEntry::ModelCallEnded {
                    at,
                    attempt: *attempt,
                    partial: partial.clone(),
                    retry_at: *retry_at,
                    why: why.clone(),
                });
            }
            Fact::ModelCallStarted {
                attempt,
                choice,
                target,
                ..
            } => {
                if let (Some(choice), Some(model)) = (choice, self.setup.model_of(*target)) {
                    self.entries.push(LogEntry::TargetChosen {
                        at,
                        attempt: *attempt,
                        choice: Arc::clone(choice),
                        model: model.clone(),
                        target: *target,
                    });
                }
                self.targets.add(*attempt, *target);
                self.is_calling_model = true;
                self.rounds = attempt.round;
            }
            Fact::ReplyReceived { attempt, reply, .. } => {
                self.is_calling_model = false;
                self.calls.extend(reply.message.calls().map(|call| CallLog {
                    at,
                    attempts: Vec::new(),
                    call: Arc::clone(call),
                    closed: None,
                    late: Vec::new(),
                    provided: provided(call, &reply.message.blocks),
                    round: attempt.round,
                    started: None,
                }));
                self.entries.push(LogEntry::Reply {
                    at,
                    attempt: *attempt,
                    reply: Arc::clone(reply),
                });
            }
            Fact::TurnEnded { end, .. } => self.entries.push(LogEntry::TurnEnded {
                at,
                end: end.clone(),
            }),
            Fact::TurnResumed { nth, .. } => {
                self.resumed = *nth;
                self.entries.push(LogEntry::Resumed { at });
                // Another process has another monotonic clock.
                self.calls.iter_mut().for_each(|call| call.started = None);
            }
            Fact::WaitClosed { end, wait, .. } => {
                let mut waits = self.waits.iter_mut().rev();
                if let Some(open) = waits.find(|open| open.wait.id == *wait) {
                    open.closed = Some((at, end.clone()));
                }
            }
            Fact::WaitOpened { wait } => {
                let call = self.call(&wait.call);
                self.waits.push(WaitLog {
                    answered: None,
                    at,
                    closed: None,
                    edited: call.and_then(CallLog::edited).cloned(),
                    wait: wait.clone(),
                });
            }
            Fact::BackendSession { .. }
            // All late outcomes are added when the whole session is known.
            | Fact::Late(Late::Outcome { .. })
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnOpened { .. } => {}
        }
    }

    /// The call with this id.
    #[must_use]
    pub fn call(&self, id: &ToolCallId) -> Option<&CallLog> {
        self.calls.iter().rev().find(|known| known.call.id == *id)
    }

    /// The cost of its usage, if the called models have prices in one currency.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        self.setup.bill(&self.targets, &self.usage)
    }

    /// When and how it ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<(WallTime, &TurnEnd)> {
        self.entries.iter().rev().find_map(|entry| {
            if let LogEntry::TurnEnded { at, end } = entry {
                Some((*at, end))
            } else {
                None
            }
        })
    }

    /// The messages of its opening that are new. A client that keeps the conversation sends all of it with each
    /// turn: all messages are new in the first turn, and only the last one later.
    #[must_use]
    pub fn new_messages(&self) -> Vec<Arc<Message>> {
        let mut messages = self.opening_messages();
        if matches!(self.opening, Opening::Transcript(_)) && self.ordinal > 1 {
            messages.drain(..messages.len().saturating_sub(1));
        }
        messages
    }

    /// All messages of its opening.
    #[must_use]
    pub fn opening_messages(&self) -> Vec<Arc<Message>> {
        match &self.opening {
            Opening::ClientResults(results) => {
                let outcomes = results.iter().map(Arc::clone);
                let blocks = outcomes.map(|outcome| Block::from(Content::ToolOutcome(outcome)));
                vec![Arc::new(Message::new(Role::Tool, blocks.collect()))]
            }
            Opening::Transcript(transcript) => transcript.messages().to_vec(),
            Opening::UserMessage(message) => vec![Arc::clone(message)],
        }
    }

    /// Its open waits.
    pub fn open_waits(&self) -> impl Iterator<Item = &WaitLog> {
        self.waits.iter().filter(|wait| wait.closed.is_none())
    }

    /// The tool of a call, if there is one of this name.
    #[must_use]
    pub fn tool(&self, call: &ToolCall) -> Option<&CatalogEntry> {
        self.setup.catalog.tool(call.name.as_str())
    }

    /// The total usage of its model calls; a late count replaces its estimate.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.usage.values().for_each(|used| sum += *used);
        sum
    }

    /// The waits of a call.
    pub fn waits_of(&self, call: &ToolCallId) -> impl Iterator<Item = &WaitLog> {
        self.waits
            .iter()
            .filter(move |wait| wait.wait.call == *call)
    }

    fn call_mut(&mut self, id: &ToolCallId) -> Option<&mut CallLog> {
        let mut calls = self.calls.iter_mut().rev();
        calls.find(|known| known.call.id == *id)
    }
}

/// The outcome of a provider tool, which is in the same reply.
fn provided(call: &ToolCall, blocks: &[Block]) -> Option<Arc<ToolOutcome>> {
    blocks.iter().find_map(|block| match &block.content {
        Content::ToolOutcome(outcome)
            if call.ran_by == RanBy::Provider && outcome.call == call.id =>
        {
            Some(Arc::clone(outcome))
        }
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => None,
    })
}
