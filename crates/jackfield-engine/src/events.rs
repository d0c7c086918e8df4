//! What the tasks of a turn send back, and what takes it there.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::{ModelAttempt, ToolAttempt, WaitId};
use jackfield_domain::tool_loop::Input;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::toolbox::{Afterwards, ToolEvents};
use tokio::sync::mpsc;

use crate::crash;
use crate::late::LateTo;
use crate::news::{self, Observer};

/// What comes back from the tasks.
///
/// The queue has room for 32 of them from the beginning, for as long as the turn is driven: what nearly all
/// of them are stands in here, and what is large is elsewhere.
pub(crate) enum Event {
    /// For the loop: more of a text of the reply.
    Appended {
        attempt: ModelAttempt,
        index: u32,
        of: Appended,
        text: Arc<str>,
    },
    /// For the loop.
    Input(Box<Input>),
    /// For whoever watches.
    Progress(Box<Progress>),
    /// For whoever watches: the approver leaves this to a person.
    Undecided(WaitId),
}

// A block of the queue is 32 of them: see above.
const _: () = assert!(size_of::<Event>() <= 40);

/// What more came of.
#[derive(Clone, Copy)]
pub(crate) enum Appended {
    Arguments,
    Text,
}

/// How far a tool is.
pub(crate) struct Progress {
    attempt: ToolAttempt,
    done: f64,
    message: Option<String>,
    of: Option<f64>,
}

impl Event {
    /// Something for the loop.
    pub(crate) fn input(input: Input) -> Self {
        Self::Input(Box::new(input))
    }

    /// A piece of a reply.
    pub(crate) fn piece(attempt: ModelAttempt, delta: Delta) -> Self {
        match delta {
            Delta::ArgumentsAppended { index, text } => Self::Appended {
                attempt,
                index,
                of: Appended::Arguments,
                text,
            },
            Delta::TextAppended { index, text } => Self::Appended {
                attempt,
                index,
                of: Appended::Text,
                text,
            },
            delta @ (Delta::AnnotationAdded { .. }
            | Delta::BlockEnded { .. }
            | Delta::BlockStarted { .. }
            | Delta::StateSet { .. }) => Self::input(Input::ReplyDelta { attempt, delta }),
        }
    }

    /// What it is for the loop; given back if it is for whoever watches.
    pub(crate) fn into_input(self) -> Result<Input, News> {
        match self {
            Self::Appended {
                attempt,
                index,
                of,
                text,
            } => {
                let delta = match of {
                    Appended::Arguments => Delta::ArgumentsAppended { index, text },
                    Appended::Text => Delta::TextAppended { index, text },
                };
                Ok(Input::ReplyDelta { attempt, delta })
            }
            Self::Input(input) => Ok(*input),
            Self::Progress(progress) => Err(News::Progress(progress)),
            Self::Undecided(wait) => Err(News::Undecided(wait)),
        }
    }
}

/// What is for whoever watches alone.
pub(crate) enum News {
    Progress(Box<Progress>),
    Undecided(WaitId),
}

impl News {
    pub(crate) fn tell(&self, observer: &mut dyn Observer) {
        match self {
            Self::Progress(progress) => {
                let Progress {
                    attempt,
                    done,
                    message,
                    of,
                } = &**progress;
                observer.tell(news::News::Progress {
                    attempt,
                    done: *done,
                    message: message.as_deref(),
                    of: *of,
                });
            }
            Self::Undecided(wait) => observer.tell(news::News::Undecided { wait }),
        }
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
        let progress = Progress {
            attempt: self.attempt.clone(),
            done,
            message,
            of,
        };
        let _gone = self.sender.send(Event::Progress(Box::new(progress))).await;
    }
}

/// Sends something to the loop.
pub(crate) async fn send(sender: &mpsc::Sender<Event>, input: Input) {
    // The driver is gone only if nobody wants the answer any more.
    let _gone = sender.send(Event::input(input)).await;
}
