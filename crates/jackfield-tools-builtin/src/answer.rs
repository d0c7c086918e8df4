//! Results of the built-in tools: an answer, or a fault that a model can act on.

use serde_json::Value;

/// A tool's answer, for a reader and for a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    pub text: String,
    /// The same answer as a JSON object.
    pub structured: Value,
}

/// Why a tool has no answer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolFault {
    /// The arguments are invalid; the text says how to correct them.
    #[error("{0}")]
    Arguments(String),
    /// The arguments are valid, but their question has no answer.
    #[error("{0}")]
    Unanswerable(String),
    /// The work exceeded the tool's limits.
    #[error("{0}")]
    Exhausted(String),
}
