//! What a built-in tool gives back: an answer, or a fault that a model can act on.

use serde_json::Value;

/// A tool's answer, for a reader and for a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// The answer as text.
    pub text: String,
    /// The same answer as a JSON object.
    pub structured: Value,
}

/// Why a tool has no answer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolFault {
    /// The arguments cannot be used; the text says how to mend them.
    #[error("{0}")]
    Arguments(String),
    /// The arguments were understood, and what they ask for has no answer.
    #[error("{0}")]
    Unanswerable(String),
    /// The work was not finished within the tool's limits.
    #[error("{0}")]
    Exhausted(String),
}
