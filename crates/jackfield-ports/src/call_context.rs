//! The circumstances of one call to a model or a tool.

use jackfield_domain::failure::{
    ModelFailure, ModelFailureKind, Phase, ToolFailure, ToolFailureKind,
};
use thiserror::Error;

use crate::lease::LeaseDeadline;

/// The circumstances of a call. Clones share the deadline of the lease.
///
/// The default is a call of no session: it may begin at any time.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    lease: LeaseDeadline,
}

impl CallContext {
    /// A call in a session with this lease.
    #[must_use]
    pub const fn new(lease: LeaseDeadline) -> Self {
        Self { lease }
    }

    /// The deadline of the session's lease. The caller drops the call when it passes.
    #[must_use]
    pub const fn lease(&self) -> &LeaseDeadline {
        &self.lease
    }

    /// Lets a call begin. Adapters ask right before the first byte, after every wait for a process, a connection or a
    /// token.
    ///
    /// # Errors
    ///
    /// [`LeasePassed`]: the session may have another owner, who has told the model that the outcome is unknown.
    pub fn begin(&self) -> Result<(), LeasePassed> {
        if self.lease.has_passed() {
            return Err(LeasePassed);
        }
        Ok(())
    }
}

/// A call that was not made because the lease of its session has passed.
#[derive(Clone, Copy, Debug, Error, Eq, PartialEq)]
#[error("the call was not made, because another process may own the session by now")]
pub struct LeasePassed;

impl From<LeasePassed> for ModelFailure {
    fn from(passed: LeasePassed) -> Self {
        Self::new(
            ModelFailureKind::Transport,
            Phase::BeforeSend,
            passed.to_string(),
        )
    }
}

impl From<LeasePassed> for ToolFailure {
    fn from(passed: LeasePassed) -> Self {
        Self::not_sent(ToolFailureKind::Unavailable, passed.to_string())
    }
}
