//! What a dialect cannot ask of its provider.

use thiserror::Error;

/// Something that cannot be said in a dialect without saying something else.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{reason} ({path})")]
pub struct Unsupported {
    /// Where it is, as a path into the domain request, such as `messages[0].blocks[1]`.
    pub path: String,
    /// What it is, for a person.
    pub reason: &'static str,
}
