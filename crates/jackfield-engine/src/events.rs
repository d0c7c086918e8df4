//! What the tasks of a turn send back, and what takes it there.

use async_trait::async_trait;
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::{ModelAttempt, ToolAttempt, WaitId};
use jackfield_domain::tool_loop::Input;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::toolbox::{Afterwards, ToolEvents};
use tokio::sync::mpsc;

use crate::crash;
use crate::late::LateTo;
use crate::news::{News, Observer};

/// What comes back from the tasks.
pub(crate) enum Event {
    /// For the loop.
    Input(Input),
    /// For whoever watches: the approver leaves this to a person.
    Undecided(WaitId),
    /// For whoever watches.
    Progress {
        attempt: ToolAttempt,
        done: f64,
        message: Option<String>,
        of: Option<f64>,
    },
}

impl Event {
    pub(crate) fn tell(&self, observer: &mut dyn Observer) {
        match self {
            Self::Input(_) => {}
            Self::Progress {
                attempt,
                done,
                message,
                of,
            } => {
                let (done, message, of) = (*done, message.as_deref(), *of);
                observer.tell(News::Progress {
                    attempt,
                    done,
                    message,
                    of,
                });
            }
            Self::Undecided(wait) => observer.tell(News::Undecided { wait }),
        }
    }
}

/// Takes the pieces of a reply to the loop.
pub(crate) struct Sink {
    pub(crate) attempt: ModelAttempt,
    pub(crate) sender: mpsc::Sender<Event>,
}

#[async_trait]
impl DeltaSink for Sink {
    async fn push(&mut self, delta: Delta) {
        send(
            &self.sender,
            Input::ReplyDelta {
                attempt: self.attempt,
                delta,
            },
        )
        .await;
        crash::point("delta");
    }
}

/// Takes what happens during a tool call to the loop and to whoever watches.
pub(crate) struct Events {
    pub(crate) attempt: ToolAttempt,
    pub(crate) late: LateTo,
    pub(crate) sender: mpsc::Sender<Event>,
}

#[async_trait]
impl ToolEvents for Events {
    async fn accepted(&mut self, handle: JobHandle) {
        send(
            &self.sender,
            Input::ToolAccepted {
                attempt: self.attempt.clone(),
                handle,
            },
        )
        .await;
    }

    fn afterwards(&self) -> Option<Afterwards> {
        Some(self.late.of(self.attempt.clone()))
    }

    async fn progressed(&mut self, done: f64, of: Option<f64>, message: Option<String>) {
        crash::point("during-tool");
        let attempt = self.attempt.clone();
        let _gone = self
            .sender
            .send(Event::Progress {
                attempt,
                done,
                message,
                of,
            })
            .await;
    }
}

/// Sends something to the loop.
pub(crate) async fn send(sender: &mpsc::Sender<Event>, input: Input) {
    // The driver is gone only if nobody wants the answer any more.
    let _gone = sender.send(Event::Input(input)).await;
}
