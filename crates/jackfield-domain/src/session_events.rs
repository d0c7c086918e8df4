//! Telling: what a watcher of a session is told, and in which order.
//!
//! Durable news is a pure function of a fact, so that whoever watches live and whoever comes back
//! are told the same. The text of a reply is an offset into it, wherever the reply is at the time:
//! under way in this process, or recorded. The [`EventStream`] puts both into one line.

use std::collections::VecDeque;

use thiserror::Error;

use crate::accumulator::ReplyAccumulator;
use crate::cursor::Cursor;
use crate::fact::{Envelope, Fact, ModelCallEnd};
use crate::ids::ModelAttempt;
use crate::time::Now;

mod text;

use self::text::{ReplyText, TextPosition};
pub use self::text::{TextEvent, TextEventKind, TextKind, TextStart};

/// What a watcher is told.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEvent {
    /// Something has happened.
    Fact {
        /// What.
        fact: Box<Fact>,
        /// Whether nothing more is told of its step: only then the state that it leads to is one that lasts.
        is_last: bool,
        /// When it was decided.
        now: Now,
    },
    /// A try at a reply is over, and nothing of what was told of it holds: it failed and is made
    /// again, or it was lost with the process that waited for it.
    Superseded {
        /// The try.
        attempt: ModelAttempt,
        /// How it ended.
        fact: Box<Fact>,
        /// When that was decided.
        now: Now,
    },
    /// More of a reply, in the order of its blocks.
    Text {
        /// The try that it belongs to.
        attempt: ModelAttempt,
        /// What.
        piece: TextEvent,
    },
}

/// What watchers are told of a fact.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum FactEvent {
    /// That it has happened.
    Fact,
    /// Nothing: it came late, and changes nothing that was told.
    Nothing,
    /// That nothing holds of what was told of this try at a reply.
    Superseded(ModelAttempt),
}

impl FactEvent {
    /// What watchers are told of this fact.
    #[must_use]
    pub const fn of(fact: &Fact) -> Self {
        match fact {
            Fact::ModelCallEnded {
                attempt,
                retry_at,
                why,
                ..
            } => match (why, retry_at) {
                (ModelCallEnd::Lost, _) | (ModelCallEnd::Failed(_), Some(_)) => {
                    Self::Superseded(*attempt)
                }
                (ModelCallEnd::Cancelled, _) | (ModelCallEnd::Failed(_), None) => Self::Fact,
            },
            Fact::Late(_) => Self::Nothing,
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::ReplyReceived { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => Self::Fact,
        }
    }
}

/// A cursor that is none of this session.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("the cursor {cursor} is none of this session")]
pub struct ForeignCursor {
    /// The cursor.
    pub cursor: Cursor,
}

/// Tells one session to one watcher, from a cursor on.
///
/// It is fed all steps of the session, from the first one, as they come; what the watcher knows is
/// not kept. [`next`](Self::next) tells what the steps say; while a reply is under way, whoever has it
/// asks [`next_of`](Self::next_of) for more.
#[derive(Clone, Debug)]
pub struct EventStream {
    cursor: Cursor,
    /// How many facts it was fed.
    facts: u64,
    /// Whether the cursor points into a reply where none is.
    is_foreign: bool,
    is_open: bool,
    /// The reply attempt whose text comes next.
    reply: Option<OpenTurnText>,
    untold: VecDeque<PendingFact>,
}

#[derive(Clone, Debug)]
struct OpenTurnText {
    attempt: ModelAttempt,
    /// Where in the reply; found when there is something to look into.
    place: Option<TextPosition>,
}

#[derive(Clone, Debug)]
struct PendingFact {
    fact: Fact,
    /// How many facts come before it.
    facts: u64,
    /// Whether nothing is told of its step after it.
    is_last: bool,
    now: Now,
}

impl EventStream {
    /// Tells from this cursor on.
    #[must_use]
    pub const fn new(cursor: Cursor) -> Self {
        Self {
            cursor,
            facts: 0,
            is_foreign: cursor.facts() == 0 && cursor.units() > 0,
            is_open: false,
            reply: None,
            untold: VecDeque::new(),
        }
    }

    /// Passes over the first facts of the session, of which its cursor says that the watcher knows them, and
    /// none of which opened a reply that goes on behind it.
    pub const fn skip(&mut self, facts: u64) {
        self.facts += facts;
    }

    /// Takes the next step of the session.
    pub fn feed(&mut self, step: Envelope) {
        let told = |fact: &Fact| FactEvent::of(fact) != FactEvent::Nothing;
        let last = step.facts.iter().rposition(told);
        for (place, fact) in step.facts.into_iter().enumerate() {
            let facts = self.facts;
            self.facts += 1;
            match fact {
                Fact::TurnOpened { .. } => self.is_open = true,
                Fact::TurnEnded { .. } => self.is_open = false,
                Fact::CallAccepted { .. }
                | Fact::CallClosed { .. }
                | Fact::CallLost { .. }
                | Fact::CallStarted { .. }
                | Fact::Late(_)
                | Fact::ModelCallEnded { .. }
                | Fact::ModelCallStarted { .. }
                | Fact::ReplyReceived { .. }
                | Fact::SessionForked { .. }
                | Fact::TurnResumed { .. }
                | Fact::WaitClosed { .. }
                | Fact::WaitOpened { .. } => {}
            }
            if facts >= self.cursor.facts() {
                self.untold.push_back(PendingFact {
                    fact,
                    facts,
                    is_last: last == Some(place),
                    now: step.now,
                });
            } else if self.facts == self.cursor.facts() {
                // The last one that the watcher knows.
                self.reply = OpenTurnText::by(&fact);
                self.is_foreign = self.reply.is_none() && self.cursor.units() > 0;
            }
        }
    }

    /// Checks that the cursor was one of this session, as far as it was fed.
    ///
    /// # Errors
    ///
    /// [`ForeignCursor`] if it lies beyond all facts, or in a reply where none is.
    pub const fn check(&self) -> Result<(), ForeignCursor> {
        if self.is_foreign || self.facts < self.cursor.facts() {
            return Err(ForeignCursor {
                cursor: self.cursor,
            });
        }
        Ok(())
    }

    /// How far it has told.
    #[must_use]
    pub const fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Whether everything was told that it was fed, and no turn is open.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let told = |untold: &PendingFact| FactEvent::of(&untold.fact) == FactEvent::Nothing;
        !self.is_open && self.untold.iter().all(told)
    }

    /// What comes next of what it was fed, and the cursor behind it.
    #[expect(
        clippy::should_implement_trait,
        reason = "more may come after nothing, as it does not from an iterator"
    )]
    pub fn next(&mut self) -> Option<(Cursor, SessionEvent)> {
        let news = loop {
            match FactEvent::of(&self.untold.front()?.fact) {
                FactEvent::Nothing => self.untold.pop_front(),
                news @ (FactEvent::Fact | FactEvent::Superseded(_)) => break news,
            };
        };
        if let Some(piece) = self.rest_of_reply() {
            return Some(piece);
        }
        let PendingFact {
            fact,
            facts,
            is_last,
            now,
        } = self.untold.pop_front()?;
        if self.untold.is_empty() {
            // Facts come seldom, and the pieces of a reply between them often.
            self.untold = VecDeque::new();
        }
        self.cursor = Cursor::behind(facts + 1, 0);
        self.reply = OpenTurnText::by(&fact);
        let fact = Box::new(fact);
        let told = match news {
            FactEvent::Superseded(attempt) => SessionEvent::Superseded { attempt, fact, now },
            FactEvent::Fact | FactEvent::Nothing => SessionEvent::Fact { fact, is_last, now },
        };
        Some((self.cursor, told))
    }

    /// What comes next of a reply that is under way and was opened by the last of this many facts, and
    /// the cursor behind it. Nothing while something that it was fed comes before.
    pub fn next_of(
        &mut self,
        facts: u64,
        reply: &ReplyAccumulator,
    ) -> Option<(Cursor, SessionEvent)> {
        if facts != self.cursor.facts() || !self.untold.is_empty() {
            return None;
        }
        self.piece(ReplyText::SoFar(reply))
    }

    /// What is left to tell of a reply before the fact that it was received.
    fn rest_of_reply(&mut self) -> Option<(Cursor, SessionEvent)> {
        let Fact::ReplyReceived { attempt, reply } = &self.untold.front()?.fact else {
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
        let wanted = self.cursor.units();
        let mut place = match open.place {
            Some(place) => place,
            None => text.find(wanted)?,
        };
        let piece = text.next(&mut place)?;
        open.place = Some(place);
        self.cursor = Cursor::behind(self.cursor.facts(), place.units());
        let attempt = open.attempt;
        Some((self.cursor, SessionEvent::Text { attempt, piece }))
    }
}

impl OpenTurnText {
    /// The reply attempt that a fact opens, if it opens one.
    const fn by(fact: &Fact) -> Option<Self> {
        match fact {
            Fact::ModelCallStarted { attempt, .. } => Some(Self {
                attempt: *attempt,
                place: None,
            }),
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ReplyReceived { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => None,
        }
    }
}
