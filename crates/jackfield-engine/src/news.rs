//! The events of a turn that observers receive once they are committed.

use jackfield_domain::delta::Delta;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, WaitId};
use jackfield_domain::time::Now;

use jackfield_ports::toolbox_source::ToolboxProblem;

/// An event for an observer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ObserverEvent<'a> {
    /// A piece of the reply in flight.
    Delta {
        /// Its attempt; a later attempt of the same round replaces the pieces of this one.
        attempt: ModelAttempt,
        /// Jackfield's id of the call, if the piece belongs to a tool call.
        call: Option<ToolCallId>,
        /// The piece.
        delta: &'a Delta,
    },
    /// A committed fact.
    Fact {
        /// The fact.
        fact: &'a Fact,
        /// When it was decided.
        now: Now,
    },
    /// The progress of a tool call.
    Progress {
        /// The attempt.
        attempt: &'a ToolAttempt,
        /// The amount done.
        done: f64,
        /// A message about it.
        message: Option<&'a str>,
        /// The total amount, if known.
        total: Option<f64>,
    },
    /// A message waits for the turn before it to end, as [`SecondMessage::Queue`] asks. Sent once.
    ///
    /// [`SecondMessage::Queue`]: crate::SecondMessage::Queue
    Queued {
        /// The busy session.
        session: &'a SessionId,
    },
    /// The approver leaves an approval to a person.
    Undecided {
        /// The wait of the approval.
        wait: &'a WaitId,
    },
    /// A toolbox, or a tool of one, that is missing from the turn.
    Unavailable {
        /// The reason.
        problem: &'a ToolboxProblem,
    },
}

/// Observes a turn. Implementations must not block; a slow observer needs a queue of its own.
pub trait Observer: Send {
    /// Receives an event.
    fn on_event(&mut self, event: ObserverEvent<'_>);
}

/// Ignores all events.
impl Observer for () {
    fn on_event(&mut self, _news: ObserverEvent<'_>) {}
}
