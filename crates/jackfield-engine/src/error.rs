//! Errors before, around and after a turn. A failure inside a turn is recorded as the turn's end instead.

use std::sync::Arc;

use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::{SessionId, ToolCallId, ToolboxId, TurnId};
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::Needs;
use jackfield_domain::rules::RuleViolation;
use jackfield_domain::session_events::ForeignCursor;
use jackfield_domain::wait::WaitEndKind;
use jackfield_ports::journal::{AppendRefusal, JournalError};
use thiserror::Error;

/// A turn could not be driven to its end. A turn that failed is not an error: its end records the failure.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The session is busy, in this or another process: cancel the turn, or wait.
    #[error("session {session} is at work on turn {turn}: wait until it is over, or cancel it")]
    Busy {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// The engine is shutting down: no turn begins or resumes.
    #[error("jackfield is shutting down: no turn begins any more")]
    Draining,
    /// The session already exists.
    #[error("there is a session {session} already")]
    Exists {
        /// The session.
        session: SessionId,
    },
    /// The cursor does not belong to the session.
    #[error(transparent)]
    ForeignCursor(#[from] ForeignCursor),
    /// No model could be sent the messages of a conversation.
    #[error("the conversation cannot be continued")]
    InvalidConversation(#[from] RuleViolation),
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The session has an open turn that no process drives.
    #[error(
        "session {session} has a turn that was left open ({turn}): resume it with `jackfield sessions resume {session}`"
    )]
    LeftOpen {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// The turn made no such client tool calls.
    #[error(
        "results of {} were not requested: turn {turn} made no such call for you to run",
        list(calls)
    )]
    NoSuchCall {
        /// The calls.
        calls: Vec<ToolCallId>,
        /// The turn.
        turn: TurnId,
    },
    /// The engine has no journal for ephemeral sessions.
    #[error("this engine keeps every session: it has no journal for ephemeral ones")]
    NoEphemeralJournal,
    /// The session cannot be forked at this place.
    #[error("session {session} cannot be forked there")]
    NoSuchPlace {
        /// The session.
        session: SessionId,
    },
    /// The model wrote no summary; no fork was begun.
    #[error("the conversation was not compacted: {}", failure.message)]
    NotCompacted {
        /// Why.
        failure: ModelFailure,
    },
    /// The conversation is too short to be compacted.
    #[error("session {session} has nothing that a summary could replace yet")]
    NothingToCompact {
        /// The session.
        session: SessionId,
    },
    /// The journal did not accept the facts. Nothing was performed that was not committed.
    #[error("the turn was stopped: its journal did not take it ({why})")]
    NotCommitted {
        /// Why.
        why: Arc<str>,
    },
    /// The session has no such turn.
    #[error("session {session} has no turn {turn}")]
    NoSuchTurn {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// The calls are closed: their results are too late, or the turn has ended.
    #[error("turn {turn} does not wait for results of {} any more: {}", list(calls), ended(*how))]
    NotWaiting {
        /// The calls.
        calls: Vec<ToolCallId>,
        /// How their waits ended.
        how: WaitEndKind,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// The session has no open turn.
    #[error("session {session} has no open turn: there is nothing to resume")]
    NothingOpen {
        /// The session.
        session: SessionId,
    },
    /// The turn is parked and cannot be resumed. It was not changed.
    #[error("turn {turn} of session {session} is not taken up: {why}")]
    Parked {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// Why.
        why: Box<ParkReason>,
    },
    /// Another process owns the session now.
    #[error("the turn was stopped here: {refusal}")]
    OwnershipLost {
        /// The journal's refusal.
        refusal: AppendRefusal,
    },
    /// The calls already have other results, which stand.
    #[error(
        "{} of turn {turn} already has another result, which stands",
        list(calls)
    )]
    ResultConflict {
        /// The calls.
        calls: Vec<ToolCallId>,
        /// The turn.
        turn: TurnId,
    },
    /// Results of other calls of the same reply are missing. No result was accepted; the turn keeps waiting.
    #[error(
        "the results of {} are missing: send those of all calls of the reply at once",
        list(calls)
    )]
    ResultsMissing {
        /// The calls without a result.
        calls: Vec<ToolCallId>,
        /// The turn.
        turn: TurnId,
    },
    /// None of the route's targets can do what the turn needs. Leave it out, or name a route or a model that can.
    #[error("no target of the route `{route}` can do what this needs: {needs}")]
    NoCapableTarget {
        /// What the turn needs.
        needs: Needs,
        /// The name of the route.
        route: Arc<str>,
    },
    /// There is no provider of this name.
    #[error("there is no provider `{name}`; there are: {}", known.join(", "))]
    UnknownProvider {
        /// The configured providers.
        known: Vec<String>,
        /// The name.
        name: Arc<str>,
    },
    /// There is no route of this name.
    #[error("there is no route `{name}`; there are: {}", known.join(", "))]
    UnknownRoute {
        /// The configured routes.
        known: Vec<String>,
        /// The name.
        name: Arc<str>,
    },
    /// A turn with a cost budget was to begin on a model without a price. Configure a price, use another model,
    /// or remove the budget.
    #[error("no price is known for {}/{}, so the budget of money cannot be enforced; `{}` in the configuration is a price for a million tokens", model.provider, model.model, price_line(model))]
    Unpriced {
        /// The model.
        model: ModelRef,
    },
    /// There is no tool of this name.
    #[error("there is no tool `{name}`; there are: {}", known.join(", "))]
    UnknownTool {
        /// The existing tools.
        known: Vec<String>,
        /// The name.
        name: String,
    },
}

impl EngineError {
    /// Another process owns the session, or may own it by now.
    pub(crate) const fn stale() -> Self {
        Self::OwnershipLost {
            refusal: AppendRefusal::StaleEpoch,
        }
    }

    /// Whether a message that [expected](crate::TurnOptions::expected_turns) this number of turns was refused because
    /// its session has another one since, or is about to get it from another process.
    #[must_use]
    pub fn is_overtaken(&self, expected: u32) -> bool {
        matches!(self, Self::Busy { session, turn } if *turn != TurnId::derive(session, expected))
    }

    /// Whether the journal is at fault, not the session or the request: a retry may succeed once the journal
    /// works again.
    #[must_use]
    pub const fn is_journal_failure(&self) -> bool {
        matches!(
            self,
            Self::Journal(JournalError::Unreachable { .. }) | Self::NotCommitted { .. }
        )
    }
}

fn list(calls: &[ToolCallId]) -> String {
    let calls: Vec<&str> = calls.iter().map(ToolCallId::as_str).collect();
    calls.join(", ")
}

const fn ended(how: WaitEndKind) -> &'static str {
    match how {
        WaitEndKind::Answered => "they have been answered",
        WaitEndKind::Cancelled => "it was cancelled",
        WaitEndKind::Expired => "they did not come in time",
        WaitEndKind::Superseded => "a new message took its place",
    }
}

/// Why a turn is not resumed.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum ParkReason {
    /// It was resumed this often without progress.
    #[error(
        "it was taken up {times} times without coming any further; it waits for an answer: try once more, or cancel"
    )]
    NoProgress {
        /// The number of attempts.
        times: u32,
    },
    /// Its provider is not configured.
    #[error("its provider `{name}` is not configured; there are: {}", known.join(", "))]
    NoProvider {
        /// The configured providers.
        known: Vec<String>,
        /// The name.
        name: Arc<str>,
    },
    /// Toolboxes of tools that it was offered are not configured.
    #[error("tools that it was offered are of servers that are not configured: {}", missing.join(", "))]
    NoToolboxes {
        /// Their ids.
        missing: Vec<String>,
    },
    /// The stored state may be older than what the turn has already done.
    #[error(
        "what is kept of it is older than what was written, or was restored from a copy, and its calls may have \
         been made since; it waits for a person to have it go on, or to cancel it"
    )]
    Restored,
    /// A toolbox of tools that it was offered cannot list its tools.
    #[error("the tools of `{toolbox}` cannot be had: {message}")]
    ToolboxDown {
        /// Why.
        message: String,
        /// The toolbox.
        toolbox: ToolboxId,
    },
}

/// An error with its causes, in one line.
#[must_use]
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// The line of a configuration that says the price of a model, with amounts to replace.
#[must_use]
pub fn price_line(model: &ModelRef) -> String {
    let name = format!("{}/{}", model.provider, model.model);
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    format!("prices.\"{name}\" = {{ input = 1.00, output = 5.00 }}")
}
