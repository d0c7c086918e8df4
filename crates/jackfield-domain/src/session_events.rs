//! The events of a session for watchers, and their order.
//!
//! Durable events are a pure function of the facts, so live and returning watchers receive the same. The text
//! of a reply is addressed by an offset, whether the reply is in flight in this process or recorded. An
//! [`EventStream`] merges both into one sequence.

use std::collections::VecDeque;

use thiserror::Error;

use crate::accumulator::ReplyAccumulator;
use crate::cursor::Cursor;
use crate::fact::{Envelope, Fact, ModelCallEnd};
use crate::ids::ModelAttempt;
use crate::text_event::TextEvent;
use crate::time::Now;

mod text;

use self::text::{ReplyText, TextPosition};

/// An event of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEvent {
    /// A fact.
    Fact {
        /// The fact.
        fact: Box<Fact>,
        /// Whether it is the last event of its step. Only then the state after it is durable.
        is_last: bool,
        /// When it was decided.
        now: Now,
    },
    /// An attempt at a reply is over, and its text is void: it failed and is retried, or it was lost with its
    /// process.
    Superseded {
        /// The attempt.
        attempt: ModelAttempt,
        /// The fact that ended it.
        fact: Box<Fact>,
        /// When it was decided.
        now: Now,
    },
    /// More of a reply, in block order.
    Text {
        /// The attempt that it belongs to.
        attempt: ModelAttempt,
        /// The piece.
        piece: TextEvent,
    },
}

/// The event that a fact leads to.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum FactEvent {
    /// The fact itself.
    Fact,
    /// No event: the fact is late, and changes nothing.
    Nothing,
    /// The text of this reply attempt is void.
    Superseded(ModelAttempt),
}

impl FactEvent {
    /// The event for this fact.
    #[must_use]
    pub const fn from_fact(fact: &Fact) -> Self {
        if matches!(fact, Fact::Late(_)) {
            return Self::Nothing;
        }
        let Fact::ModelCallEnded {
            attempt,
            retry_at,
            why,
            ..
        } = fact
        else {
            return Self::Fact;
        };
        match (why, retry_at) {
            (ModelCallEnd::Lost, _) | (ModelCallEnd::Failed(_), Some(_)) => {
                Self::Superseded(*attempt)
            }
            (ModelCallEnd::Cancelled, _) | (ModelCallEnd::Failed(_), None) => Self::Fact,
        }
    }
}

/// The cursor does not belong to this session.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("the cursor {cursor} is none of this session")]
pub struct ForeignCursor {
    /// The cursor.
    pub cursor: Cursor,
}

/// Yields the events of one session to one watcher, from a cursor on.
///
/// It is fed all steps of the session in order, from the first one; events before the cursor are skipped.
/// [`next`](Self::next) returns the events of these steps. While a reply is in flight, its owner calls
/// [`next_live_piece`](Self::next_live_piece) for more.
#[derive(Clone, Debug)]
pub struct EventStream {
    cursor: Cursor,
    /// The number of facts that were fed.
    facts: u64,
    /// Whether the cursor points into a reply where there is none.
    is_foreign: bool,
    is_open: bool,
    /// The reply attempt whose text comes next.
    reply: Option<OpenTurnText>,
    pending: VecDeque<PendingFact>,
}

#[derive(Clone, Debug)]
struct OpenTurnText {
    attempt: ModelAttempt,
    /// The position in the reply; determined on first use.
    place: Option<TextPosition>,
}

#[derive(Clone, Debug)]
struct PendingFact {
    fact: Fact,
    /// The number of facts before it.
    facts: u64,
    /// Whether it is the last event of its step.
    is_last: bool,
    now: Now,
}

impl EventStream {
    /// A stream that starts at this cursor.
    #[must_use]
    pub const fn new(cursor: Cursor) -> Self {
        Self {
            cursor,
            facts: 0,
            is_foreign: cursor.facts() == 0 && cursor.units() > 0,
            is_open: false,
            reply: None,
            pending: VecDeque::new(),
        }
    }

    /// Skips the first facts of the session. They must be before the cursor, and none of them may have opened a
    /// reply that continues after it.
    pub const fn skip(&mut self, facts: u64) {
        self.facts += facts;
    }

    /// Adds the next step of the session.
    pub fn feed(&mut self, step: Envelope) {
        let is_event = |fact: &Fact| FactEvent::from_fact(fact) != FactEvent::Nothing;
        let last = step.facts.iter().rposition(is_event);
        for (place, fact) in step.facts.into_iter().enumerate() {
            let facts = self.facts;
            self.facts += 1;
            if matches!(fact, Fact::TurnOpened { .. }) {
                self.is_open = true;
            } else if matches!(fact, Fact::TurnEnded { .. }) {
                self.is_open = false;
            }
            if facts >= self.cursor.facts() {
                self.pending.push_back(PendingFact {
                    fact,
                    facts,
                    is_last: last == Some(place),
                    now: step.now,
                });
            } else if self.facts == self.cursor.facts() {
                // The last fact before the cursor.
                self.reply = OpenTurnText::from_fact(&fact);
                self.is_foreign = self.reply.is_none() && self.cursor.units() > 0;
            }
        }
    }

    /// Checks that the cursor belongs to this session, as far as it was fed.
    ///
    /// # Errors
    ///
    /// [`ForeignCursor`] if it is beyond all facts, or in a reply where there is none.
    pub const fn check(&self) -> Result<(), ForeignCursor> {
        if self.is_foreign || self.facts < self.cursor.facts() {
            return Err(ForeignCursor {
                cursor: self.cursor,
            });
        }
        Ok(())
    }

    /// The present position.
    #[must_use]
    pub const fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Whether all fed events were returned and no turn is open.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let is_hidden =
            |pending: &PendingFact| FactEvent::from_fact(&pending.fact) == FactEvent::Nothing;
        !self.is_open && self.pending.iter().all(is_hidden)
    }

    /// Whether a turn is open in the fed steps, of which events may be left.
    #[must_use]
    pub const fn has_open_turn(&self) -> bool {
        self.is_open
    }

    /// The next event of the fed steps, and the cursor after it.
    #[expect(
        clippy::should_implement_trait,
        reason = "more may come after nothing, as it does not from an iterator"
    )]
    pub fn next(&mut self) -> Option<(Cursor, SessionEvent)> {
        let event_kind = loop {
            match FactEvent::from_fact(&self.pending.front()?.fact) {
                FactEvent::Nothing => self.pending.pop_front(),
                event_kind @ (FactEvent::Fact | FactEvent::Superseded(_)) => break event_kind,
            };
        };
        if let Some(piece) = self.remaining_reply() {
            return Some(piece);
        }
        let PendingFact {
            fact,
            facts,
            is_last,
            now,
        } = self.pending.pop_front()?;
        if self.pending.is_empty() {
            // Facts are rare, and many pieces of a reply come in between, so the memory is released.
            self.pending = VecDeque::new();
        }
        self.cursor = Cursor::after(facts + 1, 0);
        self.reply = OpenTurnText::from_fact(&fact);
        let fact = Box::new(fact);
        let event = match event_kind {
            FactEvent::Superseded(attempt) => SessionEvent::Superseded { attempt, fact, now },
            FactEvent::Fact | FactEvent::Nothing => SessionEvent::Fact { fact, is_last, now },
        };
        Some((self.cursor, event))
    }

    /// The next piece of a reply in flight that the last of this many facts opened, and the cursor after it.
    /// `None` while fed events come first.
    pub fn next_live_piece(
        &mut self,
        facts: u64,
        reply: &ReplyAccumulator,
    ) -> Option<(Cursor, SessionEvent)> {
        if facts != self.cursor.facts() || !self.pending.is_empty() {
            return None;
        }
        self.piece(ReplyText::InFlight(reply))
    }

    /// The remaining text of a reply, before the fact that it was received.
    fn remaining_reply(&mut self) -> Option<(Cursor, SessionEvent)> {
        let Fact::ReplyReceived { attempt, reply, .. } = &self.pending.front()?.fact else {
            return None;
        };
        if self.reply.as_ref()?.attempt != *attempt {
            return None;
        }
        let message = std::sync::Arc::clone(&reply.message);
        self.piece(ReplyText::Whole(&message))
    }

    fn piece(&mut self, text: ReplyText<'_>) -> Option<(Cursor, SessionEvent)> {
        let open = self.reply.as_mut()?;
        let units = self.cursor.units();
        let mut place = match open.place {
            Some(place) => place,
            None => text.find(units)?,
        };
        let piece = text.next(&mut place)?;
        open.place = Some(place);
        self.cursor = Cursor::after(self.cursor.facts(), place.units());
        let attempt = open.attempt;
        Some((self.cursor, SessionEvent::Text { attempt, piece }))
    }
}

impl OpenTurnText {
    /// The reply attempt that a fact opens, if it opens one.
    const fn from_fact(fact: &Fact) -> Option<Self> {
        if let Fact::ModelCallStarted { attempt, .. } = fact {
            let attempt = *attempt;
            return Some(Self {
                attempt,
                place: None,
            });
        }
        None
    }
}
