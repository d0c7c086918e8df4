//! Tool calls outside any turn, made by a caller other than a model.

use std::fmt;

use async_trait::async_trait;
use jackfield_domain::ids::IdempotencyKey;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::toolbox::ToolEvents;
use serde_json::{Map, Value};

/// A tool call outside any turn.
pub struct DirectCall {
    /// The arguments; they are validated against the tool's schema.
    pub arguments: Map<String, Value>,
    /// The idempotency key; generated if `None`.
    pub key: Option<IdempotencyKey>,
    /// The progress callback; it must not block.
    pub progress: Box<dyn FnMut(CallProgress) + Send>,
    /// The trace context of the caller.
    pub trace: Option<TraceContext>,
}

/// The progress of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallProgress {
    /// The amount done.
    pub done: f64,
    /// A message about it.
    pub message: Option<String>,
    /// The total amount, if known.
    pub total: Option<f64>,
}

impl DirectCall {
    /// A call without a progress callback.
    #[must_use]
    pub fn new(arguments: Map<String, Value>) -> Self {
        Self {
            arguments,
            key: None,
            progress: Box::new(drop),
            trace: None,
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

/// The outcome of a call, with the server's original content.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectOutcome {
    /// The content blocks as the tool's server sent them, if available. They match the outcome's parts in order,
    /// except where the outcome was changed afterwards.
    pub original: Vec<Value>,
    /// The outcome.
    pub result: ToolResult,
}

impl From<ToolResult> for DirectOutcome {
    fn from(result: ToolResult) -> Self {
        let original = Vec::new();
        Self { original, result }
    }
}

/// Forwards progress to the caller.
pub(crate) struct ProgressSink {
    pub(crate) original: Vec<Value>,
    pub(crate) progress: Box<dyn FnMut(CallProgress) + Send>,
    pub(crate) trace: Option<TraceContext>,
}

#[async_trait]
impl ToolEvents for ProgressSink {
    // There is no journal to record it in.
    async fn on_accepted(&mut self, _handle: JobHandle) {}

    fn original(&mut self) -> Option<&mut Vec<Value>> {
        Some(&mut self.original)
    }

    fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    async fn on_progress(&mut self, done: f64, total: Option<f64>, message: Option<String>) {
        (self.progress)(CallProgress {
            done,
            message,
            total,
        });
    }
}
