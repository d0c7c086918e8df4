//! What a failure says about the target that it came from: its fault, whatever the status was.

use crate::failure::{ModelFailure, ModelFailureKind, RetryAdvice};

/// Whose fault a failure is, and what follows for the target.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Fault {
    /// The request's. It would fail anywhere, and counts for nothing.
    Client,
    /// The content filter of the target refused the request. It counts for nothing.
    ContentFilter,
    /// The request is too long for the target. It counts for nothing.
    ContextTooLong,
    /// The target is out of use until a person does something.
    Down(FaultScope),
    /// The target cannot do what the request needs. Another one may, and it counts for nothing.
    Inability,
    /// The target's, for a while.
    Transient,
}

/// What else is out of use with a target that is down.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum FaultScope {
    /// All targets of the same provider: they have the same key and account.
    Account,
    /// The target alone: the provider does not have this model, or not here.
    Model,
}

impl Fault {
    /// The fault of a failure of this kind.
    ///
    /// The dialects map codes of vendors to kinds, so a limit on spending that a vendor reports as a rate limit is
    /// [`ModelFailureKind::Forbidden`] here.
    #[must_use]
    pub const fn of(kind: ModelFailureKind) -> Self {
        match kind {
            ModelFailureKind::ContentFilter => Self::ContentFilter,
            ModelFailureKind::ContextTooLong { .. } => Self::ContextTooLong,
            ModelFailureKind::Forbidden | ModelFailureKind::Unauthenticated => {
                Self::Down(FaultScope::Account)
            }
            ModelFailureKind::BudgetExhausted
            | ModelFailureKind::BudgetUnavailable
            | ModelFailureKind::InvalidRequest
            | ModelFailureKind::TooLarge => Self::Client,
            ModelFailureKind::Interrupted
            | ModelFailureKind::Overloaded
            | ModelFailureKind::ProtocolViolation
            | ModelFailureKind::RateLimited
            | ModelFailureKind::ServerError
            | ModelFailureKind::Timeout
            | ModelFailureKind::Transport => Self::Transient,
            ModelFailureKind::ModelNotFound => Self::Down(FaultScope::Model),
            ModelFailureKind::ToolsUnsupported
            | ModelFailureKind::Unsupported
            | ModelFailureKind::UnusableReply => Self::Inability,
        }
    }

    /// Whether the same target may answer the same request after a pause.
    #[must_use]
    pub fn may_pass(failure: &ModelFailure) -> bool {
        Self::of(failure.kind) == Self::Transient && failure.advice != RetryAdvice::Never
    }
}
