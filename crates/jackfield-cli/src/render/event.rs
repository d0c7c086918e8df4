//! Owned events of a turn, queued until they are rendered.

use jackfield_domain::delta::Delta;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, WaitId};
use jackfield_domain::time::Now;
use jackfield_engine::{Observer, ObserverEvent, ToolboxProblem};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// An owned event of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum RenderEvent {
    /// A delta of a reply in progress.
    Delta {
        /// The attempt that it belongs to.
        attempt: ModelAttempt,
        /// The engine's id of the call, if the delta belongs to a tool call.
        call: Option<ToolCallId>,
        delta: Delta,
    },
    Fact {
        fact: Box<Fact>,
        now: Now,
    },
    /// The past events end here; the process of its running calls is gone.
    PastEnded,
    /// The progress of a tool call.
    Progress {
        attempt: ToolAttempt,
        done: f64,
        message: Option<String>,
        /// The total amount, if known.
        total: Option<f64>,
    },
    /// A message waits for the end of the previous turn.
    Queued {
        session: SessionId,
    },
    /// The approver leaves a question to a person.
    Undecided {
        wait: WaitId,
    },
    /// A toolbox or tool is missing from the turn.
    Unavailable {
        problem: ToolboxProblem,
    },
}

impl RenderEvent {
    /// Converts an observer event; `None` for kinds added after this code.
    #[must_use]
    pub fn from_observer(event: ObserverEvent<'_>) -> Option<Self> {
        match event {
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
                total: of,
            } => Some(Self::Progress {
                attempt: attempt.clone(),
                done,
                message: message.map(str::to_owned),
                total: of,
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

/// Forwards events to a renderer without waiting.
#[derive(Debug)]
pub struct Forward(pub UnboundedSender<RenderEvent>);

impl Forward {
    /// A forwarder, and its receiving end.
    #[must_use]
    pub fn new() -> (Self, UnboundedReceiver<RenderEvent>) {
        let (news, events) = mpsc::unbounded_channel();
        (Self(news), events)
    }
}

impl Observer for Forward {
    fn on_event(&mut self, event: ObserverEvent<'_>) {
        if let Some(event) = RenderEvent::from_observer(event) {
            // The renderer may be gone; the turn continues until it is cancelled.
            let _shown = self.0.send(event);
        }
    }
}
