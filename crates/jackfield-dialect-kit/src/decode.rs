//! Decoders: what a provider's bytes say, as the pieces of a reply.

use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::usage::Usage;
use thiserror::Error;

/// Reads one reply of a provider: event by event, or in one piece.
///
/// However the reply comes, the pieces put together are the same. Unknown events, fields and pieces
/// are ignored; a known event that is broken, or comes out of place, is a [`DecodeError::Violation`].
/// After any error the decoder is of no more use.
pub trait DecodeReply: Send {
    /// Reads an event: its name, where there is one, and its data.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the server told an error, or does not keep to the rules.
    fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError>;

    /// What the provider has counted of the reply so far; nothing where it counts at the end.
    fn counted(&self) -> Option<Usage> {
        None
    }

    /// Whether the reply is whole: whatever still comes says nothing more about it.
    fn is_complete(&self) -> bool;

    /// The end of the reply, once all events have been read.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Truncated`] if the stream ended without its ending.
    fn finish(self) -> Result<ReplyEnd, DecodeError>;

    /// Reads a reply that came in one piece, as a stream of it would be read.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the body is an error in spite of its status, or no whole reply.
    fn read_whole(self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError>;
}

/// Bytes that end in no reply.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The server told an error in place of the rest: decide by the failure.
    #[error("the provider broke off: {}", .0.message)]
    Failed(ModelFailure),
    /// The stream ended without its ending: what came is not the whole reply.
    #[error("the stream ended before the reply did")]
    Truncated {
        /// How far the reply had come.
        phase: Phase,
    },
    /// The server does not keep to the vendor's rules, so nothing that it says can be relied on.
    #[error("the provider's answer cannot be read: {reason}")]
    Violation {
        /// How far the reply had come.
        phase: Phase,
        /// What is wrong.
        reason: String,
    },
}

impl DecodeError {
    /// The failure for the loop to decide about.
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
