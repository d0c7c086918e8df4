//! What can go wrong before, around and after a turn; what goes wrong inside one is its end.

use std::sync::Arc;

use jackfield_domain::ids::{SessionId, ToolCallId, ToolboxId, TurnId};
use jackfield_domain::request::ModelRef;
use jackfield_domain::session_events::ForeignCursor;
use jackfield_domain::wait::WaitEndKind;
use jackfield_ports::journal::{AppendRefusal, JournalError};
use thiserror::Error;

/// A turn that could not be driven to its end. A turn that failed is no error: its end says so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Somebody, here or in another process, is at work on the session: cancel the turn, or wait.
    #[error("session {session} is at work on turn {turn}: wait until it is over, or cancel it")]
    Busy {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// The engine is being drained: nothing begins or goes on any more.
    #[error("jackfield is shutting down: no turn begins any more")]
    Draining,
    /// The session is there already.
    #[error("there is a session {session} already")]
    Exists {
        /// The session.
        session: SessionId,
    },
    /// The cursor is none of the session.
    #[error(transparent)]
    ForeignCursor(#[from] ForeignCursor),
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The idempotency key was used for another request.
    #[error(
        "the idempotency key `{key}` was used for another request: send the same request again, or take another key"
    )]
    KeyConflict {
        /// The key.
        key: Arc<str>,
    },
    /// The session has a turn that is not over, and that nobody is at work on.
    #[error(
        "session {session} has a turn that was left open ({turn}): resume it with `jackfield sessions resume {session}`"
    )]
    LeftOpen {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// Nobody knows of these calls as ones that the caller runs.
    #[error(
        "nobody asked for results of {}: no such call was made in turn {turn} for you to run",
        list(calls)
    )]
    NoSuchCall {
        /// The calls.
        calls: Vec<ToolCallId>,
        /// The turn.
        turn: TurnId,
    },
    /// The session has no such place to be forked at.
    #[error("session {session} cannot be forked there")]
    NoSuchPlace {
        /// The session.
        session: SessionId,
    },
    /// The journal does not take what happened; nothing that was not committed was done.
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
    /// The calls are closed: their results come too late, or the turn was ended.
    #[error("turn {turn} does not wait for results of {} any more: {}", list(calls), ended(*how))]
    NotWaiting {
        /// The calls.
        calls: Vec<ToolCallId>,
        /// How their waiting ended.
        how: WaitEndKind,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// The session has no turn that is not over.
    #[error("session {session} has no open turn: there is nothing to resume")]
    NothingOpen {
        /// The session.
        session: SessionId,
    },
    /// The turn is not to be taken up. It was not touched.
    #[error("turn {turn} of session {session} is not taken up: {why}")]
    Parked {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// Why.
        why: Box<ParkReason>,
    },
    /// Somebody else drives the session now.
    #[error("the turn was stopped here: {refusal}")]
    OwnershipLost {
        /// What the journal said.
        refusal: AppendRefusal,
    },
    /// The calls have other results already, which stand.
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
    /// Results are missing of calls that the same reply made. None was taken; the turn goes on waiting.
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
    /// No provider has this name.
    #[error("there is no provider `{name}`; there are: {}", known.join(", "))]
    UnknownProvider {
        /// The providers that there are.
        known: Vec<String>,
        /// The name.
        name: Arc<str>,
    },
    /// A turn with a budget of money was to begin on a model without a price: give it one, or another
    /// model, or take the budget away.
    #[error("no price is known for {}/{}, so the budget of money cannot be enforced", model.provider, model.model)]
    Unpriced {
        /// The model.
        model: ModelRef,
    },
    /// No tool has this name.
    #[error("there is no tool `{name}`; there are: {}", known.join(", "))]
    UnknownTool {
        /// The tools that there are.
        known: Vec<String>,
        /// The name.
        name: String,
    },
}

impl EngineError {
    /// Whether the journal is at fault, and not the session or the request: the same may go well as soon as
    /// the journal does.
    #[must_use]
    pub const fn is_of_journal(&self) -> bool {
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

/// Why a turn is not taken up.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum ParkReason {
    /// It was taken up this often without coming any further.
    #[error(
        "it was taken up {times} times without coming any further; it waits for somebody to have it tried once more, or to cancel it"
    )]
    NoProgress {
        /// How often.
        times: u32,
    },
    /// Its provider is not one of this engine's.
    #[error("its provider `{name}` is not configured; there are: {}", known.join(", "))]
    NoProvider {
        /// The providers that there are.
        known: Vec<String>,
        /// The name.
        name: Arc<str>,
    },
    /// Toolboxes that it was offered tools of are not this engine's.
    #[error("tools that it was offered are of servers that are not configured: {}", missing.join(", "))]
    NoToolboxes {
        /// Their ids.
        missing: Vec<String>,
    },
    /// What is kept of it may be older than what was done.
    #[error(
        "what is kept of it is older than what was written, or was restored from a copy, and its calls may have \
         been made since; it waits for a person to have it go on, or to cancel it"
    )]
    Restored,
    /// A toolbox that it was offered tools of does not list them.
    #[error("the tools of `{toolbox}` cannot be had: {message}")]
    ToolboxDown {
        /// Why.
        message: String,
        /// The toolbox.
        toolbox: ToolboxId,
    },
}
