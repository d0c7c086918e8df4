//! Requests that a dialect cannot express.

use thiserror::Error;

/// A part of a request that a dialect cannot express without changing its meaning.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{reason} ({path})")]
pub struct Unsupported {
    /// The path in the domain request, such as `messages[0].blocks[1]`.
    pub path: String,
    /// The reason, for a person.
    pub reason: &'static str,
}
