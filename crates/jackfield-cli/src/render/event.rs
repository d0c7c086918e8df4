//! News that is kept until it is shown.

use jackfield_domain::delta::Delta;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, WaitId};
use jackfield_domain::time::Now;
use jackfield_engine::{Observer, ObserverEvent, ToolboxProblem};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// A piece of news of one's own.
#[derive(Clone, Debug, PartialEq)]
pub enum RenderEvent {
    /// A piece of a reply that is under way.
    Delta {
        /// The try that it belongs to.
        attempt: ModelAttempt,
        /// Our id of the call, if the piece belongs to a tool call.
        call: Option<ToolCallId>,
        /// The piece.
        delta: Delta,
    },
    /// A fact, committed.
    Fact {
        /// The fact.
        fact: Box<Fact>,
        /// When it was decided.
        now: Now,
    },
    /// A tool call is this far.
    Progress {
        /// The try.
        attempt: ToolAttempt,
        /// How much is done.
        done: f64,
        /// A word about it.
        message: Option<String>,
        /// Of how much, if that is known.
        of: Option<f64>,
    },
    /// A message waits for the turn before it to end.
    Queued {
        /// The session that is at work.
        session: SessionId,
    },
    /// The approver leaves a question to a person.
    Undecided {
        /// Which.
        wait: WaitId,
    },
    /// A toolbox, or a tool of one, that the turn begins without.
    Unavailable {
        /// Why.
        problem: ToolboxProblem,
    },
}

impl RenderEvent {
    /// The news as one's own; nothing of kinds that came later than this.
    #[must_use]
    pub fn of(news: ObserverEvent<'_>) -> Option<Self> {
        match news {
            ObserverEvent::Delta {
                attempt,
                call,
                delta,
            } => Some(Self::Delta {
                attempt,
                call,
                delta: delta.clone(),
            }),
            ObserverEvent::Fact { fact, now } => Some(Self::Fact {
                fact: Box::new(fact.clone()),
                now,
            }),
            ObserverEvent::Progress {
                attempt,
                done,
                message,
                of,
            } => Some(Self::Progress {
                attempt: attempt.clone(),
                done,
                message: message.map(str::to_owned),
                of,
            }),
            ObserverEvent::Queued { session } => Some(Self::Queued {
                session: session.clone(),
            }),
            ObserverEvent::Undecided { wait } => Some(Self::Undecided { wait: wait.clone() }),
            ObserverEvent::Unavailable { problem } => Some(Self::Unavailable {
                problem: problem.clone(),
            }),
            _ => None,
        }
    }
}

/// Passes news on to whoever shows it; never waits.
#[derive(Debug)]
pub struct Forward(pub UnboundedSender<RenderEvent>);

impl Forward {
    /// One, and where what it passes on comes out.
    #[must_use]
    pub fn new() -> (Self, UnboundedReceiver<RenderEvent>) {
        let (news, events) = mpsc::unbounded_channel();
        (Self(news), events)
    }
}

impl Observer for Forward {
    fn tell(&mut self, news: ObserverEvent<'_>) {
        if let Some(event) = RenderEvent::of(news) {
            // Whoever showed it may have gone; the turn goes on until it is told.
            let _shown = self.0.send(event);
        }
    }
}
