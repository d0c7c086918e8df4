//! What sessions are found again by: what a program that keeps no session of its own brings along.
//!
//! Like the summary it is derived from facts alone, and written in the same transaction as the steps. A
//! mark is kept under its place, a digest of the principal and the mark together: what one principal looks
//! for is never found with another. A turn's own id is known only to whom it was told, and what a program
//! looks at by it does not say for which end user it was: for an id the principal is the part before the
//! first `/`, behind which the end user stands.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId};
use jackfield_domain::setup::Setup;
use jackfield_domain::wait::WaitKind;

use super::summary::Summary;

/// What a turn can be found again by.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Mark {
    /// The body of the request that began it.
    Body(Digest),
    /// A call whose result its client owed it.
    Call(ToolCallId),
    /// The idempotency key of the request that began it: its digest, of which [`Self::of_key`] is one.
    Key(Digest),
    /// Its id; whichever end user of the principal's it is for.
    Turn(TurnId),
    /// What its client was shown of the conversation when it ended.
    View(Digest),
}

/// A turn that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundTurn {
    /// By what.
    pub mark: Mark,
    /// Its session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
}

/// What a step lets a turn be found by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StepMarks {
    /// Where it is looked for: see [`Mark::place`].
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

    /// Where a journal keeps it for this principal; no two marks or principals have the same place.
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

/// Everything that a step lets turns be found by, in its order. `before` is the session's summary without
/// this step.
///
/// All marks of a session are those of its first caller. One that no caller has begun has none.
#[must_use]
pub fn of(before: &Summary, step: &Envelope) -> Vec<StepMarks> {
    let mut marked = MarkFold {
        marked: Vec::new(),
        principal: before.principal.clone(),
        turn: before.open.as_ref().map(|open| open.turn.clone()),
    };
    for fact in &step.facts {
        marked.see(fact);
    }
    marked.marked
}

/// Marks as they are made.
struct MarkFold {
    marked: Vec<StepMarks>,
    principal: Option<Arc<str>>,
    turn: Option<TurnId>,
}

impl MarkFold {
    fn see(&mut self, fact: &Fact) {
        match fact {
            Fact::TurnEnded { view, .. } => {
                if let Some(view) = view {
                    self.mark(Mark::View(*view));
                }
                self.turn = None;
            }
            Fact::TurnOpened { setup, turn, .. } => self.open(setup, turn),
            Fact::WaitOpened { wait } => {
                if wait.kind == WaitKind::ClientResult {
                    self.mark(Mark::Call(wait.call.clone()));
                }
            }
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
            | Fact::WaitClosed { .. } => {}
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

    /// Keeps a mark of the open turn, if the session is a caller's.
    fn mark(&mut self, mark: Mark) {
        if let (Some(principal), Some(turn)) = (&self.principal, &self.turn) {
            self.marked.push(StepMarks {
                place: mark.place(principal),
                turn: turn.clone(),
            });
        }
    }
}
