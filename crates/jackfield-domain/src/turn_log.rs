//! The log of a session: what happened in each turn and to each call, and how both ended.
//!
//! It is a function of the facts and the inbox, for everything that shows or queries a session. The loop does not
//! use it: it decides by the [`Turn`](crate::turn::Turn). A [`Session`](crate::session::Session) has the messages
//! that a model receives; the log also has times, and events that models do not see.

mod call;
mod entries;
mod present;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fact::{Compaction, Envelope, Fact};
use crate::ids::{ForkPlace, SessionId, ToolCallId, TurnId, WaitId};
use crate::late::{self, LateOutcome};
use crate::message::Message;
use crate::time::{Now, WallTime};
use crate::wait::{Delivery, DeliveryBody, WaitEnd};

pub use self::call::{AttemptLog, AttemptLoss, CallLog, CallOutcome, WaitLog};
pub use self::entries::{LogEntry, TurnLog};

/// The log of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionLog {
    /// The session that it is a fork of, if it is one.
    pub forked: Option<ForkOrigin>,
    /// The conversation of another program that it began with, if it did.
    pub imported: Option<ImportOrigin>,
    /// The turns, in order.
    pub turns: Vec<TurnLog>,
}

/// The session that a session was forked from.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkOrigin {
    /// The place at which it was forked.
    pub at: ForkPlace,
    /// The compaction of its messages before the first turn, if there was one.
    pub compaction: Option<Arc<Compaction>>,
    /// The other session.
    pub from: SessionId,
    /// Its messages up to that place.
    pub messages: Arc<Vec<Arc<Message>>>,
}

/// The conversation of another program that a session began with.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportOrigin {
    /// When it began there, if that is known.
    pub created: Option<WallTime>,
    /// Its messages.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The other program.
    pub source: Arc<str>,
}

impl SessionLog {
    /// The messages that the session began with, before its first turn.
    pub fn before(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        let forked = self.forked.iter().flat_map(|forked| forked.messages.iter());
        let imported = self.imported.iter();
        forked.chain(imported.flat_map(|imported| imported.messages.iter()))
    }

    /// The log of these steps and deliveries.
    #[must_use]
    pub fn from_steps(steps: &[Envelope], deliveries: &[Delivery]) -> Self {
        let mut log = Self::default();
        for step in steps {
            for fact in &step.facts {
                log.apply(fact, step.now);
            }
        }
        log.apply_late(late::outcomes(steps, deliveries));
        log.apply_answers(deliveries);
        log
    }

    /// The log of one turn of these steps and deliveries; no other turn's log is built.
    #[must_use]
    pub fn of_turn(id: &TurnId, steps: &[Envelope], deliveries: &[Delivery]) -> Option<TurnLog> {
        let (mut log, mut is_its) = (Self::default(), false);
        for step in steps {
            for fact in &step.facts {
                if let Fact::TurnOpened { turn, .. } = fact {
                    is_its = turn == id;
                }
                if is_its {
                    log.apply(fact, step.now);
                }
            }
        }
        log.apply_late(late::outcomes(steps, deliveries));
        log.apply_answers(deliveries);
        log.turns.pop()
    }

    /// The turn with this id.
    #[must_use]
    pub fn turn(&self, id: &TurnId) -> Option<&TurnLog> {
        self.turns.iter().find(|turn| turn.turn == *id)
    }

    fn apply(&mut self, fact: &Fact, now: Now) {
        if let Some(turn) = TurnLog::open(fact, now.wall) {
            self.turns.push(turn);
        } else if let Fact::SessionForked {
            at, from, messages, ..
        } = fact
        {
            self.forked = Some(ForkOrigin {
                at: at.clone(),
                from: from.clone(),
                compaction: None,
                messages: Arc::clone(messages),
            });
        } else if let Fact::SessionImported {
            created,
            messages,
            source,
            ..
        } = fact
        {
            self.imported = Some(ImportOrigin {
                created: *created,
                messages: Arc::clone(messages),
                source: Arc::clone(source),
            });
        } else if let (Fact::Compacted(compaction), true, Some(forked)) =
            (fact, self.turns.is_empty(), &mut self.forked)
        {
            forked.compaction = Some(Arc::clone(compaction));
        } else if let Some(turn) = self.turns.last_mut() {
            turn.apply(fact, now);
        }
    }

    /// Some late outcomes are facts, others are deliveries.
    fn apply_late(&mut self, outcomes: Vec<LateOutcome>) {
        let mut by_call: BTreeMap<ToolCallId, Vec<LateOutcome>> = BTreeMap::new();
        for outcome in outcomes {
            let call = outcome.attempt.call.clone();
            by_call.entry(call).or_default().push(outcome);
        }
        for call in self.turns.iter_mut().flat_map(|turn| &mut turn.calls) {
            call.late = by_call.remove(&call.call.id).unwrap_or_default();
        }
    }

    fn apply_answers(&mut self, deliveries: &[Delivery]) {
        let mut by_wait: BTreeMap<&WaitId, Vec<(WallTime, WaitEnd)>> = BTreeMap::new();
        for delivery in deliveries {
            if let DeliveryBody::Answer { answer, wait } = &delivery.body {
                let end = WaitEnd::Answered {
                    answer: answer.clone(),
                    by: Arc::clone(&delivery.by),
                    delivery: delivery.id.clone(),
                };
                by_wait.entry(wait).or_default().push((delivery.at, end));
            }
        }
        for wait in self.turns.iter_mut().flat_map(|turn| &mut turn.waits) {
            let mut answers = by_wait.remove(&wait.wait.id).into_iter().flatten();
            wait.answered = match &wait.closed {
                None => answers.next(),
                Some((_, end)) => answers.find(|(_, answered)| answered == end),
            };
        }
    }
}
