//! Marks: the keys by which turns are found again for clients that do not send a session id.
//!
//! Like the summary, they are derived from facts alone, and written in the same transaction as the steps. A
//! mark is stored under its place, a digest of the principal and the mark: a search by one principal never
//! finds a turn of another. A turn's id is known only to clients that received it, and requests by turn id do
//! not name the end user. So the principal of an id mark is only the part before the first `/`, after which the
//! end user follows.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId};
use jackfield_domain::setup::Setup;
use jackfield_domain::wait::WaitKind;

use super::summary::Summary;

/// A key by which a turn can be found again.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Mark {
    /// The body of the request that began it.
    Body(Digest),
    /// A client tool call of the turn.
    Call(ToolCallId),
    /// A fork of a session behind a turn, by its number, for any principal. It is found with the turn's id.
    Fork(SessionId, u32),
    /// The digest of the idempotency key of the request that began it; see [`Self::of_key`].
    Key(Digest),
    /// Its id, for any end user of the principal.
    Turn(TurnId),
    /// The key of its client's conversation when it ended.
    View(Digest),
}

/// A turn that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundTurn {
    /// The mark that it was found by.
    pub mark: Mark,
    /// Its session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
}

/// A mark that a step sets on a turn.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StepMarks {
    /// The place of the mark: see [`Mark::place`].
    pub place: Digest,
    /// The turn.
    pub turn: TurnId,
}

impl Mark {
    /// The mark of an idempotency key.
    #[must_use]
    pub fn of_key(key: &str) -> Self {
        Self::Key(Digest::of(key.as_bytes()))
    }

    /// The place of this mark for this principal; it is unique per mark and principal.
    #[must_use]
    pub fn place(&self, principal: &str) -> Digest {
        let digest;
        let mut principal = principal;
        let (kind, text) = match self {
            Self::Body(body) => {
                digest = body.to_hex();
                ("body", &*digest)
            }
            Self::Call(call) => ("call", call.as_str()),
            Self::Fork(session, turn) => {
                principal = "";
                digest = format!("{session}/{turn}");
                ("fork", &*digest)
            }
            Self::Key(key) => {
                digest = key.to_hex();
                ("key", &*digest)
            }
            Self::Turn(turn) => {
                principal = principal.split('/').next().unwrap_or_default();
                ("turn", turn.as_str())
            }
            Self::View(view) => {
                digest = view.to_hex();
                ("view", &*digest)
            }
        };
        Digest::of_parts([principal, kind, text])
    }
}

/// All marks that a step sets, in order. `before` is the session's summary without this step.
///
/// All marks of a session but that of its fork belong to its first caller. A session without a caller has no others.
#[must_use]
pub fn step_marks(before: &Summary, step: &Envelope) -> Vec<StepMarks> {
    let mut marked = MarkFold {
        marked: Vec::new(),
        principal: before.principal.clone(),
        turn: before.open.as_ref().map(|open| open.turn.clone()),
    };
    for fact in &step.facts {
        marked.apply(fact);
    }
    marked.marked
}

/// The marks that a session may have whose steps set these: a fork of 0.2 has none of its fork.
pub fn possible_marks<'a>(
    first: Option<&Envelope>,
    set: &'a [StepMarks],
) -> impl Iterator<Item = &'a [StepMarks]> {
    let first = first.and_then(|step| step.facts.first());
    let is_fork = matches!(first, Some(Fact::SessionForked { at, .. }) if at.round.is_none());
    let older = is_fork.then(|| set.get(1..)).flatten();
    std::iter::once(set).chain(older)
}

/// The state of the fold.
struct MarkFold {
    marked: Vec<StepMarks>,
    principal: Option<Arc<str>>,
    turn: Option<TurnId>,
}

impl MarkFold {
    fn apply(&mut self, fact: &Fact) {
        if let Fact::TurnOpened { setup, turn, .. } = fact {
            self.open(setup, turn);
        } else if let Fact::TurnEnded { view, .. } = fact {
            if let Some(view) = view {
                self.mark(Mark::View(*view));
            }
            self.turn = None;
        } else if let Fact::WaitOpened { wait } = fact
            && wait.kind == WaitKind::ClientResult
        {
            self.mark(Mark::Call(wait.call.clone()));
        } else if let Fact::SessionForked { at, from, .. } = fact
            && at.round.is_none()
        {
            self.marked.push(StepMarks {
                place: Mark::Fork(from.clone(), at.ordinal).place(""),
                turn: at.turn.clone(),
            });
        }
    }

    fn open(&mut self, setup: &Setup, turn: &TurnId) {
        self.turn = Some(turn.clone());
        if let Some(caller) = &setup.caller {
            self.principal
                .get_or_insert_with(|| Arc::clone(&caller.principal));
        }
        self.mark(Mark::Turn(turn.clone()));
        if let Some(caller) = &setup.caller {
            if let Some(body) = caller.body {
                self.mark(Mark::Body(body));
            }
            if let Some(key) = &caller.key {
                self.mark(Mark::of_key(key));
            }
        }
    }

    /// Sets a mark on the open turn, if the session has a caller.
    fn mark(&mut self, mark: Mark) {
        if let (Some(principal), Some(turn)) = (&self.principal, &self.turn) {
            self.marked.push(StepMarks {
                place: mark.place(principal),
                turn: turn.clone(),
            });
        }
    }
}
