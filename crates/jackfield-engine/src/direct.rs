//! A call of a tool outside any turn, by somebody who is no model.

use std::fmt;

use async_trait::async_trait;
use jackfield_domain::ids::IdempotencyKey;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::toolbox::ToolEvents;
use serde_json::{Map, Value};

/// A call of a tool outside any turn.
pub struct DirectCall {
    /// What the tool is given; checked against its schema.
    pub arguments: Map<String, Value>,
    /// By what the tool may recognise the same call again; one of its own if there is none.
    pub key: Option<IdempotencyKey>,
    /// Where is told how far it is; must not wait.
    pub progress: Box<dyn FnMut(CallProgress) + Send>,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub struct CallProgress {
    /// How much is done.
    pub done: f64,
    /// A word about it.
    pub message: Option<String>,
    /// How much there is to do, if that is known.
    pub of: Option<f64>,
}

impl DirectCall {
    /// A call of which nobody wants to know how far it is.
    #[must_use]
    pub fn new(arguments: Map<String, Value>) -> Self {
        Self {
            arguments,
            key: None,
            progress: Box::new(drop),
        }
    }
}

impl fmt::Debug for DirectCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectCall")
            .field("arguments", &self.arguments)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// What came of a call, and how the tool's server said it.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectOutcome {
    /// The blocks of the outcome as the server said them, if it is known how: in the order of the outcome's parts,
    /// as far as that was not changed since.
    pub original: Vec<Value>,
    /// What came of it.
    pub result: ToolResult,
}

impl From<ToolResult> for DirectOutcome {
    fn from(result: ToolResult) -> Self {
        let original = Vec::new();
        Self { original, result }
    }
}

/// Tells the caller what happens on the way.
pub(crate) struct ProgressSink {
    pub(crate) original: Vec<Value>,
    pub(crate) progress: Box<dyn FnMut(CallProgress) + Send>,
}

#[async_trait]
impl ToolEvents for ProgressSink {
    // There is no journal that could keep it.
    async fn accepted(&mut self, _handle: JobHandle) {}

    fn original(&mut self) -> Option<&mut Vec<Value>> {
        Some(&mut self.original)
    }

    async fn progressed(&mut self, done: f64, of: Option<f64>, message: Option<String>) {
        (self.progress)(CallProgress { done, message, of });
    }
}
