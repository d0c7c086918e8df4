//! The port to a source of tools.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::ToolFailure;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{ToolHints, ToolSpec};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle, Question};
use serde_json::Value;

use crate::chat_model::BoxError;

/// A source of tools: the built-ins, an MCP server.
///
/// # Contract
///
/// - `list` MUST give each tool once, with a schema that is a JSON object.
/// - `call` MUST run the tool at most once, and MUST NOT retry.
/// - What the tool says about its own failure MUST be a [`ToolResult`] with `is_error`; an error is
///   only for calls that ended without an outcome.
/// - `NotSent` MUST be answered only where it is proved that the tool was not run.
/// - An outcome above `max_bytes` MUST be cut while it is read, with a marker.
/// - Dropping the call MUST cancel it, as far as the tool can be cancelled.
/// - An outcome that is heard after the call was given up, dropped or ended without one, SHOULD be handed to
///   what [`ToolEvents::afterwards`] gave: once, at most [`LONGEST_AFTERWARDS`] later, of a bounded number of
///   calls. One that the call came back with MUST NOT be.
/// - A panic or a crash of a tool MUST NOT take the process down.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Its id; the first part of its tools' model-facing names, unless they are built-ins.
    fn id(&self) -> &ToolboxId;

    /// All its tools.
    ///
    /// # Errors
    ///
    /// [`ToolError`] if they cannot be had.
    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError>;

    /// What it says about how to use the tools of the last list; nothing by default. Text of somebody
    /// else, and of any length.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// What of the last list is not as it should be, each in a sentence: a tool that was left out, a
    /// server that is down while its tools are offered. For people; the default is that all is well.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until a list that goes on in the background is over, such as that of a server that starts slowly.
    /// A toolbox whose lists are whole when they return has none, which is the default. Can be cancelled.
    async fn settled(&self) {}

    /// The hints that the server gives for the tools of its last list, to pass on to other programs;
    /// nothing by default. Where the server is not believed, only what makes others more careful.
    fn hints(&self) -> Vec<(Arc<str>, ToolHints)> {
        Vec::new()
    }

    /// Runs a tool. The arguments have been checked against its schema. Cancelled by dropping.
    ///
    /// # Errors
    ///
    /// [`ToolError`] if the call ended without an outcome.
    async fn call(&self, run: &ToolRun, events: &mut dyn ToolEvents) -> Result<ToolEnd, ToolError>;

    /// Finds a call that goes on elsewhere, and waits for it. MUST NOT run it again.
    ///
    /// # Errors
    ///
    /// [`ToolError`]; `Unknown` unless the toolbox can say more. The default answers that it has no
    /// such calls.
    async fn resume(
        &self,
        handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let _unused = (handle, answer, events);
        Err(ToolFailure::unknown(
            jackfield_domain::failure::ToolFailureKind::Unavailable,
            "this toolbox cannot take up a call again",
        )
        .into())
    }
}

/// How a call came back.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolEnd {
    /// With a question; it goes on when there is an answer.
    Asked {
        /// What takes the answer back.
        handle: JobHandle,
        /// The question.
        question: Question,
    },
    /// With an outcome.
    Finished(ToolResult),
}

/// Where a running call tells what happens on the way.
#[async_trait]
pub trait ToolEvents: Send {
    /// The call goes on elsewhere; this finds it again, also after a crash.
    async fn accepted(&mut self, handle: JobHandle);

    /// Where the outcome goes if it comes after the call was given up. Nowhere, by default.
    fn afterwards(&self) -> Option<Afterwards> {
        None
    }

    /// Where the blocks of the outcome go as the tool's server sent them, to be passed on: in the
    /// order of the outcome's parts, and no more bytes than it may have. `None` by default.
    fn original(&mut self) -> Option<&mut Vec<Value>> {
        None
    }

    /// The call is this far: a part of a whole if that is known, and a word about it.
    async fn progressed(&mut self, done: f64, of: Option<f64>, message: Option<String>);
}

/// Takes the outcome of a call that was given up before it had one. Dropping it says that none came.
#[must_use = "an outcome that came late is to be told"]
pub struct Afterwards(Box<dyn FnOnce(ToolResult) + Send + Sync>);

impl Afterwards {
    /// Hands an outcome on to this, which has to come back at once.
    pub fn new(hear: impl FnOnce(ToolResult) + Send + Sync + 'static) -> Self {
        Self(Box::new(hear))
    }

    /// The outcome has come after all. Never waits.
    pub fn came(self, result: ToolResult) {
        (self.0)(result);
    }
}

impl fmt::Debug for Afterwards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Afterwards")
    }
}

/// How long the outcome of a call that was given up is of interest.
pub const LONGEST_AFTERWARDS: Duration = Duration::from_secs(60);

/// For callers that do not want to know what happens on the way.
#[async_trait]
impl ToolEvents for () {
    async fn accepted(&mut self, _handle: JobHandle) {}

    async fn progressed(&mut self, _done: f64, _of: Option<f64>, _message: Option<String>) {}
}

/// A tool call that ended without an outcome, or a list that could not be had.
#[derive(Debug)]
pub struct ToolError {
    /// The classification, which the loop decides about.
    pub failure: ToolFailure,
    source: Option<BoxError>,
}

impl ToolError {
    /// A failure with its cause.
    #[must_use]
    pub fn with_source(failure: ToolFailure, source: impl Into<BoxError>) -> Self {
        Self {
            failure,
            source: Some(source.into()),
        }
    }
}

impl From<ToolFailure> for ToolError {
    fn from(failure: ToolFailure) -> Self {
        Self {
            failure,
            source: None,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure.message)
    }
}

impl std::error::Error for ToolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
