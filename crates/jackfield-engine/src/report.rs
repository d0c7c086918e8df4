//! The report of a turn: its answer, calls and usage.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::ToolCall;
use jackfield_domain::fact::{CallEnd, Envelope, Fact, TurnEnd};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::price::Cost;
use jackfield_domain::session::Session;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::turn::Turn;
use jackfield_domain::turn_log::{LogEntry, TurnLog};
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
    pub(crate) fn new(
        session: SessionId,
        turn: &Turn,
        log: Option<&TurnLog>,
        end: TurnEnd,
    ) -> Self {
        let calls = log.iter().flat_map(|log| &log.calls);
        let calls = calls.filter_map(|known| {
            let closed = known.closed.as_ref()?;
            let tool = turn.setup().catalog.tool(known.call.name.as_str());
            Some(CallReport {
                call: Arc::clone(&known.call),
                end: closed.end,
                origin: tool.map(|tool| tool.origin.clone()),
                result: Arc::clone(&closed.result),
                took: closed.took,
            })
        });
        let entries = log.iter().flat_map(|log| &log.entries);
        let notes = entries
            .filter_map(LogEntry::reply)
            .flat_map(|reply| &reply.end.notes);
        Self {
            calls: calls.collect(),
            cost: turn.cost(),
            end,
            messages: turn.messages_for_model().turn_messages().to_vec(),
            notes: notes.cloned().collect(),
            rounds: turn.rounds(),
            session,
            turn: turn.id().clone(),
            usage: turn.usage(),
        }
    }

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
    let mut log = None;
    for (fact, now) in steps
        .iter()
        .flat_map(|step| step.facts.iter().map(|fact| (fact, step.now)))
    {
        folded.apply(fact);
        TurnLog::track(&mut log, fact, now);
        if let Fact::TurnEnded { end, .. } = fact
            && let Some(turn) = folded.last_turn()
        {
            let (session, log) = (session.clone(), log.as_ref());
            reports.push(TurnReport::new(session, turn, log, end.clone()));
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
