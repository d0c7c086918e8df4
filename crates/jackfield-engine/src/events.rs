//! The events that the tasks of a turn send to its driver, and their senders.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::fact::CachedCall;
use jackfield_domain::failure::{ModelFailure, ToolFailure};
use jackfield_domain::ids::{SessionId, ToolAttempt, ToolCallId, TurnId, WaitId};
use jackfield_domain::reply::Reply;
use jackfield_domain::tool_loop::Input;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::call_context::LeasePassed;
use jackfield_ports::mcp_observer::McpRequest;
use jackfield_ports::question_handler::Askable;
use jackfield_ports::sampling::SamplingRequest;
use jackfield_ports::toolbox::{LateOutcomeHandler, ToolEnd, ToolError, ToolEvents};
use thiserror::Error;
use tokio::sync::mpsc;

use crate::call_traces::ObservedCalls;
use crate::crash;
use crate::error::chain;
use crate::feeds::RunningCall;
use crate::late::LateOutcomeSender;
use crate::news::{self, Observer};
use crate::sampler::Sampler;

/// The session and turn of a task, for log messages.
#[derive(Clone)]
pub(crate) struct TurnRef {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
}

impl TurnRef {
    /// A call of this turn, as the origin of an outcome.
    pub(crate) fn cached_call(&self, call: &ToolCallId) -> CachedCall {
        CachedCall {
            call: call.clone(),
            session: self.session.clone(),
            turn: self.turn.clone(),
        }
    }
}

/// An event from a task of a turn to its driver.
pub(crate) enum TaskEvent {
    /// An input of the loop.
    Input(Box<Input>),
    /// Another process may own the session by now, so a call was not begun here. The next owner decides about it.
    LeasePassed,
    /// A notice for observers.
    Notice(ToolNotice),
    /// The provider's id of the model request in flight.
    ProviderRequest(Arc<str>),
}

impl TaskEvent {
    /// Wraps an input of the loop.
    pub(crate) fn input(input: Input) -> Self {
        Self::Input(Box::new(input))
    }

    /// The event of a tool call that has ended, or was not begun.
    pub(crate) fn ended(
        turn_ref: &TurnRef,
        attempt: ToolAttempt,
        ended: Result<ToolEnd, RunError>,
    ) -> Self {
        Self::input(match ended {
            Ok(ToolEnd::Asked { handle, question }) => Input::ToolAsked {
                attempt,
                handle,
                question,
            },
            Ok(ToolEnd::Finished(result)) => Input::ToolFinished { attempt, result },
            Err(RunError::LeasePassed) => return Self::LeasePassed,
            Err(RunError::Failed(error)) => {
                let (TurnRef { session, turn }, call) = (turn_ref, &attempt.call);
                let causes = chain(&error);
                tracing::debug!(%session, %turn, %call, error = %causes, "a tool call failed");
                Input::ToolFailed {
                    attempt,
                    failure: error.failure,
                }
            }
        })
    }
}

/// Why a call has no outcome.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Failed(#[from] ToolError),
    /// It was not begun, or not continued.
    #[error("another process may own the session by now")]
    LeasePassed,
}

impl From<LeasePassed> for RunError {
    fn from(LeasePassed: LeasePassed) -> Self {
        Self::LeasePassed
    }
}

impl From<ToolFailure> for RunError {
    fn from(failure: ToolFailure) -> Self {
        Self::Failed(failure.into())
    }
}

/// The progress of a tool call.
pub(crate) struct ToolProgress {
    attempt: ToolAttempt,
    done: f64,
    message: Option<String>,
    total: Option<f64>,
}

/// A notice that only observers see.
pub(crate) enum ToolNotice {
    Progress(ToolProgress),
    /// The approver leaves this approval to a person.
    Undecided(WaitId),
}

impl ToolNotice {
    /// How far a call is, if it says so.
    pub(crate) fn progress(&self) -> Option<RunningCall> {
        let Self::Progress(progress) = self else {
            return None;
        };
        Some(RunningCall {
            attempt: progress.attempt.clone(),
            done: progress.done,
            message: progress.message.as_deref().map(Into::into),
            total: progress.total,
        })
    }

    pub(crate) fn notify(&self, observer: &mut dyn Observer) {
        match self {
            Self::Progress(progress) => {
                let ToolProgress {
                    attempt,
                    done,
                    message,
                    total,
                } = progress;
                observer.on_event(news::ObserverEvent::Progress {
                    attempt,
                    done: *done,
                    message: message.as_deref(),
                    total: *total,
                });
            }
            Self::Undecided(wait) => observer.on_event(news::ObserverEvent::Undecided { wait }),
        }
    }
}

/// Forwards the events of a tool call to the loop and to observers.
pub(crate) struct ToolEventSender {
    /// Whether a person can be asked.
    pub(crate) asks: bool,
    pub(crate) attempt: ToolAttempt,
    pub(crate) late: LateOutcomeSender,
    pub(crate) observed: ObservedCalls,
    pub(crate) sampler: Sampler,
    pub(crate) sender: mpsc::Sender<TaskEvent>,
    pub(crate) trace: Option<Arc<TraceContext>>,
}

#[async_trait]
impl ToolEvents for ToolEventSender {
    fn askable(&self) -> Askable {
        if self.asks {
            Askable::TURN
        } else {
            Askable::NOTHING
        }
    }

    async fn on_accepted(&mut self, handle: JobHandle) {
        send(
            &self.sender,
            Input::ToolAccepted {
                attempt: self.attempt.clone(),
                handle,
            },
        )
        .await;
    }

    fn late_outcome(&self) -> Option<LateOutcomeHandler> {
        Some(self.late.handler(self.attempt.clone()))
    }

    fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_deref()
    }

    fn on_request(&mut self, request: &McpRequest) {
        self.observed.push(&self.attempt, request);
    }

    async fn sample(&mut self, request: SamplingRequest) -> Result<Reply, ModelFailure> {
        self.sampler.sample(&self.attempt, request).await
    }

    async fn on_progress(&mut self, done: f64, total: Option<f64>, message: Option<String>) {
        crash::point("during-tool");
        let progress = ToolProgress {
            attempt: self.attempt.clone(),
            done,
            message,
            total,
        };
        let _gone = self
            .sender
            .send(TaskEvent::Notice(ToolNotice::Progress(progress)))
            .await;
    }
}

/// Sends an input to the loop.
pub(crate) async fn send(sender: &mpsc::Sender<TaskEvent>, input: Input) {
    send_event(sender, TaskEvent::input(input)).await;
}

/// Sends an event to the driver.
pub(crate) async fn send_event(sender: &mpsc::Sender<TaskEvent>, event: TaskEvent) {
    // The driver is gone only when the result is no longer needed.
    let _gone = sender.send(event).await;
}
