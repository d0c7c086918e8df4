//! Decoders: a provider's bytes as the deltas of a reply.

use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::usage::Usage;
use thiserror::Error;

/// Reads one reply of a provider: event by event, or as a whole.
///
/// The accumulated deltas do not depend on the form of the reply. Unknown events, fields and fragments are ignored;
/// a known event that is malformed, or out of order, is a [`DecodeError::Violation`]. After any error the decoder
/// must not be used any more.
pub trait DecodeReply: Send {
    /// Reads an event: its name, if it has one, and its data.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the server sent an error, or violates the protocol.
    fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError>;

    /// The usage of the reply so far; `None` if the provider reports it at the end.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// Whether the reply is complete: later events do not change it.
    fn is_complete(&self) -> bool;

    /// The deltas that are held as long as an event may follow: to be read once, after the last event, also of a body
    /// that broke off.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the server violates the protocol.
    fn rest(&mut self) -> Result<Vec<Delta>, DecodeError> {
        Ok(Vec::new())
    }

    /// Ends the reply after all events and the [rest](Self::rest) have been read.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Truncated`] if the stream ended without an end marker.
    fn finish(self) -> Result<ReplyEnd, DecodeError>;

    /// Reads a whole reply, with the same result as a stream of it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the body is an error despite its status, or not a whole reply.
    fn read_whole(self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError>;
}

/// Why bytes are not a complete reply.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The server sent an error in place of the rest; it is in the failure.
    #[error("the provider broke off: {}", .0.message)]
    Failed(ModelFailure),
    /// The stream ended without an end marker: the reply is incomplete.
    #[error("the stream ended before the reply did")]
    Truncated {
        /// The progress of the reply.
        phase: Phase,
    },
    /// The server violates the vendor's protocol, so none of its output is reliable.
    #[error("the provider's answer cannot be read: {reason}")]
    Violation {
        /// The progress of the reply.
        phase: Phase,
        /// The violation.
        reason: String,
    },
}

impl DecodeError {
    /// The failure for the tool loop.
    #[must_use]
    pub fn failure(&self) -> ModelFailure {
        match self {
            Self::Failed(failure) => failure.clone(),
            Self::Truncated { phase } => {
                ModelFailure::new(ModelFailureKind::Interrupted, *phase, self.to_string())
            }
            Self::Violation { phase, .. } => ModelFailure::new(
                ModelFailureKind::ProtocolViolation,
                *phase,
                self.to_string(),
            ),
        }
    }
}
