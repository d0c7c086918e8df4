//! The report of a turn: its answer, calls and usage.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::ToolCall;
use jackfield_domain::fact::{CallEnd, Envelope, Fact, TurnEnd};
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::price::Cost;
use jackfield_domain::session::Session;
use jackfield_domain::time::{MonoTime, Now};
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::turn::Turn;
use jackfield_domain::usage::Usage;

/// The report of a finished turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnReport {
    /// Its tool calls, in the order in which the model made them.
    pub calls: Vec<CallReport>,
    /// Its cost, if the model has a price.
    pub cost: Option<Cost>,
    /// How it ended.
    pub end: TurnEnd,
    /// Its messages, including the opening.
    pub messages: Vec<Arc<Message>>,
    /// What was lost or changed between Jackfield and the provider.
    pub notes: Vec<Note>,
    /// The number of rounds.
    pub rounds: u32,
    /// The session.
    pub session: SessionId,
    /// Its id.
    pub turn: TurnId,
    /// The usage.
    pub usage: Usage,
}

impl TurnReport {
    /// The text of the answer: that of the last message if the model wrote it, else empty.
    #[must_use]
    pub fn answer(&self) -> String {
        let last = self
            .messages
            .iter()
            .rev()
            .find(|message| message.role == Role::Assistant);
        last.map(|message| message.to_text()).unwrap_or_default()
    }
}

/// The reports of a session's finished turns, computed from its steps.
#[must_use]
pub fn reports(session: &SessionId, steps: &[Envelope]) -> Vec<TurnReport> {
    let mut reports = Vec::new();
    let mut folded = Session::new(session.clone());
    let mut open: Option<Reporter> = None;
    for (fact, now) in steps
        .iter()
        .flat_map(|step| step.facts.iter().map(|fact| (fact, step.now)))
    {
        folded.apply(fact);
        if matches!(fact, Fact::TurnOpened { .. }) {
            open = Some(Reporter::default());
        } else if let Some(reporter) = &mut open {
            reporter.record(fact, now);
        }
        if let Fact::TurnEnded { end, .. } = fact
            && let (Some(reporter), Some(turn)) = (open.take(), folded.last_turn())
        {
            reports.push(reporter.finish(session.clone(), turn, end.clone()));
        }
    }
    reports
}

/// The report of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallReport {
    /// The call, with its name and arguments.
    pub call: Arc<ToolCall>,
    /// How it got its outcome.
    pub end: CallEnd,
    /// The tool's origin, if the tool exists.
    pub origin: Option<ToolOrigin>,
    /// The outcome, as stored.
    pub result: Arc<ToolResult>,
    /// The time from its last start to its outcome; `None` if it did not run.
    pub took: Option<Duration>,
}

/// Builds the report while a turn runs.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    calls: Vec<OpenAttempt>,
    notes: Vec<Note>,
}

#[derive(Debug)]
struct OpenAttempt {
    call: Arc<ToolCall>,
    closed: Option<(CallEnd, Arc<ToolResult>, Option<Duration>)>,
    started: Option<MonoTime>,
}

impl Reporter {
    pub(crate) fn record(&mut self, fact: &Fact, now: Now) {
        match fact {
            Fact::ReplyReceived { reply, .. } => {
                self.notes.extend(reply.end.notes.iter().cloned());
                self.calls
                    .extend(reply.message.calls().map(|call| OpenAttempt {
                        call: Arc::clone(call),
                        closed: None,
                        started: None,
                    }));
            }
            Fact::CallStarted { attempt, .. } => {
                if let Some(open) = self.find(&attempt.call) {
                    open.started = Some(now.mono);
                }
            }
            Fact::CallClosed {
                call, end, result, ..
            } => {
                if let Some(open) = self.find(call) {
                    let took = open.started.map(|started| now.mono.since(started));
                    open.closed = Some((*end, Arc::clone(result), took));
                }
            }
            // The duration in another process is unknown to this process's clock.
            Fact::TurnResumed { .. } => {
                for open in self.calls.iter_mut().filter(|open| open.closed.is_none()) {
                    open.started = None;
                }
            }
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => {}
        }
    }

    pub(crate) fn finish(self, session: SessionId, turn: &Turn, end: TurnEnd) -> TurnReport {
        let catalog = &turn.setup().catalog;
        let calls = self.calls.into_iter().filter_map(|open| {
            let (end, result, took) = open.closed?;
            let origin = catalog
                .tool(open.call.name.as_str())
                .map(|tool| tool.origin.clone());
            Some(CallReport {
                call: open.call,
                end,
                origin,
                result,
                took,
            })
        });
        TurnReport {
            calls: calls.collect(),
            cost: turn.cost(),
            end,
            messages: turn.messages_for_model().turn_messages().to_vec(),
            notes: self.notes,
            rounds: turn.rounds(),
            session,
            turn: turn.id().clone(),
            usage: turn.usage(),
        }
    }

    fn find(&mut self, call: &ToolCallId) -> Option<&mut OpenAttempt> {
        self.calls
            .iter_mut()
            .rev()
            .find(|open| open.call.id == *call)
    }
}
