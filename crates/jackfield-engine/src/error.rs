//! What can go wrong before, around and after a turn; what goes wrong inside one is its end.

use std::sync::Arc;

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::request::ModelRef;
use jackfield_domain::telling::ForeignCursor;
use jackfield_ports::journal::{JournalError, Refusal};
use thiserror::Error;

/// A turn that could not be driven to its end. A turn that failed is no error: its end says so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The session has a turn that is not over: cancel it, or wait.
    #[error("session {session} is at work on turn {turn}")]
    Busy {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// The cursor is none of the session.
    #[error(transparent)]
    ForeignCursor(#[from] ForeignCursor),
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal does not take what happened; nothing that was not committed was done.
    #[error("the turn was stopped: its journal did not take it ({why})")]
    NotCommitted {
        /// Why.
        why: Arc<str>,
    },
    /// Somebody else drives the session now.
    #[error("the turn was stopped here: {refusal}")]
    OwnershipLost {
        /// What the journal said.
        refusal: Refusal,
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
    #[error("nobody knows what {}/{} costs, and the turn has a budget of money", model.provider, model.model)]
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
