//! A request that has no answer because of its link.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why one request has no answer, while its link may still carry others.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct LinkFailure {
    /// What to do, in the imperative.
    pub(crate) advice: String,
    /// Whether every other request would fail in the same way, so that a handshake need not go on.
    pub(crate) is_final: bool,
    pub(crate) kind: LinkFailureKind,
    /// Whether it is proved that the server has not acted on the request.
    pub(crate) not_sent: bool,
    /// What happened: a sentence without its full stop, and without secrets.
    pub(crate) reason: String,
    /// Whether the server has forgotten the session, so that a new one is needed.
    pub(crate) session_lost: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum LinkFailureKind {
    /// The answer is not the protocol.
    Protocol,
    /// The server was silent for too long.
    Timeout,
    /// The server cannot be reached, or refuses the request.
    Unavailable,
}

impl LinkFailure {
    /// A failure of a server that refused the request, or was never reached: it has not acted on it.
    pub(crate) fn not_sent(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            advice: advice.into(),
            is_final: false,
            kind: LinkFailureKind::Unavailable,
            not_sent: true,
            reason: reason.into(),
            session_lost: false,
        }
    }

    /// A failure after which it is unknown whether the server has acted on the request.
    pub(crate) fn unknown(
        kind: LinkFailureKind,
        reason: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            not_sent: false,
            ..Self::not_sent(reason, advice)
        }
    }
}

impl fmt::Display for LinkFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.reason, self.advice)
    }
}
