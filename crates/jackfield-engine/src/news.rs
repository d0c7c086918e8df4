//! News: what a watcher of a turn is told, once it is committed.

use jackfield_domain::delta::Delta;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, WaitId};
use jackfield_domain::time::Now;

use crate::catalog::ToolboxProblem;

/// What a watcher is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ObserverEvent<'a> {
    /// A piece of a reply that is under way.
    Delta {
        /// The try that it belongs to; a later one of the same round takes its place.
        attempt: ModelAttempt,
        /// Our id of the call, if the piece belongs to a tool call.
        call: Option<ToolCallId>,
        /// The piece.
        delta: &'a Delta,
    },
    /// A fact, committed.
    Fact {
        /// The fact.
        fact: &'a Fact,
        /// When it was decided.
        now: Now,
    },
    /// A tool call is this far.
    Progress {
        /// The try.
        attempt: &'a ToolAttempt,
        /// How much is done.
        done: f64,
        /// A word about it.
        message: Option<&'a str>,
        /// Of how much, if that is known.
        of: Option<f64>,
    },
    /// A message waits for the turn before it to end, as [`SecondMessage::Queue`] says. Told once.
    ///
    /// [`SecondMessage::Queue`]: crate::SecondMessage::Queue
    Queued {
        /// The session that is at work.
        session: &'a SessionId,
    },
    /// The approver leaves a question to a person.
    Undecided {
        /// Which.
        wait: &'a WaitId,
    },
    /// A toolbox, or a tool of one, that the turn begins without.
    Unavailable {
        /// Why.
        problem: &'a ToolboxProblem,
    },
}

/// Watches a turn. Telling never waits: an observer that needs time keeps a queue of its own.
pub trait Observer: Send {
    /// Takes a piece of news.
    fn tell(&mut self, news: ObserverEvent<'_>);
}

/// Watches nothing.
impl Observer for () {
    fn tell(&mut self, _news: ObserverEvent<'_>) {}
}
