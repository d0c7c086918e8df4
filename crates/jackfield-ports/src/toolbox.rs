//! The port to a source of tools.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, ToolFailure};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{ToolHints, ToolSpec};
use jackfield_domain::trace::TraceContext;
use jackfield_domain::wait::{ElicitationAnswer, JobHandle, Question};
use serde_json::Value;

use crate::call_context::{CallContext, LeasePassed};
use crate::chat_model::BoxError;
use crate::context_source::ContextSource;
use crate::mcp_observer::McpRequest;
use crate::question_handler::Askable;
use crate::sampling::SamplingRequest;
use crate::server_log::{LogLevel, ServerLogMessage};

/// A source of tools, such as the built-in tools or an MCP server.
///
/// # Contract
///
/// - `list` MUST return each tool once, with a schema that is a JSON object.
/// - `call` MUST run the tool at most once, and MUST NOT retry.
/// - A tool that is `Idempotent` MUST have one effect and one outcome for each idempotency key: recovery repeats such
///   calls after a crash, so the key is stored with the effect. One that is `ReadOnly` MUST have no effect.
/// - A call MUST NOT block its thread.
/// - A failure that the tool itself reports MUST be a [`ToolResult`] with `is_error`; an error is only for
///   calls that ended without an outcome.
/// - `NotSent` MUST be returned only where it is proved that the tool was not run.
/// - The tool MUST be run only if the call's [context](CallContext::begin) lets it, which MUST be asked right before the
///   first byte, after every wait; otherwise the call MUST fail as `NotSent`. A resumed call asks before each request
///   that makes it go on.
/// - An outcome above `max_bytes` MUST be cut while it is read, with a marker.
/// - Dropping the call MUST cancel it, as far as the tool can be cancelled.
/// - An outcome that arrives after the call was given up, dropped or ended without one, SHOULD be passed to the
///   handler from [`ToolEvents::late_outcome`]: once, at most [`LATE_OUTCOME_LIMIT`] later, for a bounded number
///   of calls. An outcome that the call returned MUST NOT be.
/// - A panic or a crash of a tool MUST NOT end the process.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Its id: the prefix of its tools' model-facing names, unless they are built-in.
    fn id(&self) -> &ToolboxId;

    /// All of its tools.
    ///
    /// The caller checks the schemas of a tool anew whenever they are in another allocation than before, which
    /// takes longer than the rest of a list. So keep the [`ToolSpec`]s, and return clones of them.
    ///
    /// # Errors
    ///
    /// [`ToolError`] if they cannot be listed.
    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError>;

    /// Its instructions for the tools of the last list; none by default. Untrusted text of any length.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// The problems of the last list that a person can do something about, each in a sentence: a changed tool that
    /// was left out, or a server that is down although its tools are offered. Turns report them. None by default.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// The tools that the last list left out, and other problems that only the server can solve, each in a sentence.
    /// Turns do not report them; tests and lists of tools do. None by default.
    fn skipped_tools(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until a list that continues in the background is complete, for instance while a server starts
    /// slowly. The default is for toolboxes whose lists are complete when they return. Cancel-safe.
    async fn wait_until_listed(&self) {}

    /// The hints of the server for the tools of its last list, for forwarding to other programs; none by
    /// default. If the server is not trusted, only hints that call for more caution.
    fn hints(&self) -> Vec<(Arc<str>, ToolHints)> {
        Vec::new()
    }

    /// Its resources and prompts, if it may have some; none by default.
    fn context(&self) -> Option<&dyn ContextSource> {
        None
    }

    /// Runs a tool. The arguments were validated against its schema. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// [`ToolError`] if the call ended without an outcome.
    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError>;

    /// Finds a call that continues elsewhere, and waits for it. MUST NOT run it again.
    ///
    /// # Errors
    ///
    /// [`ToolError`]; `Unknown` unless the toolbox knows more. The default fails, because it has no such calls.
    async fn resume(
        &self,
        handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let _unused = (handle, answer, call, events);
        Err(ToolFailure::unknown(
            jackfield_domain::failure::ToolFailureKind::Unavailable,
            "this toolbox cannot take up a call again",
        )
        .into())
    }

    /// Gives up a call that waits for an answer, which never comes: the server need not keep it open. It must not block.
    /// The default does nothing, for toolboxes that keep nothing open.
    fn abandon(&self, handle: &JobHandle) {
        let _kept = handle;
    }
}

/// How a call returned.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolEnd {
    /// With a question; the call continues when there is an answer.
    Asked {
        /// The handle for passing on the answer.
        handle: JobHandle,
        /// The question.
        question: Question,
    },
    /// With an outcome.
    Finished(ToolResult),
}

/// The receiver of a running call's events.
#[async_trait]
pub trait ToolEvents: Send {
    /// The call continues elsewhere; the handle finds it again, even after a crash.
    async fn on_accepted(&mut self, handle: JobHandle);

    /// The handler for an outcome that arrives after the call was given up; none by default.
    fn late_outcome(&self) -> Option<LateOutcomeHandler> {
        None
    }

    /// The buffer for the outcome's content blocks as the tool's server sent them: in the order of the
    /// outcome's parts, and within the size limit of the outcome. `None` by default.
    fn original(&mut self) -> Option<&mut Vec<Value>> {
        None
    }

    /// The trace context for the tool's server, if there is one.
    fn trace(&self) -> Option<&TraceContext> {
        None
    }

    /// What the server of the tool may ask during the call. Where it can be told so, it is; other questions are refused
    /// at once. By default, what a turn with a person answers.
    fn askable(&self) -> Askable {
        Askable::TURN
    }

    /// The folders that the caller wants the server to work in, as the protocol writes them, if it
    /// [has some](Askable::roots); none by default.
    async fn roots(&mut self) -> Vec<Value> {
        Vec::new()
    }

    /// The message of a model that the caller gave with the last answer, as the protocol writes it. Without one, the
    /// model is [asked](Self::sample).
    fn given_message(&mut self) -> Option<Value> {
        None
    }

    /// The lowest level of the server's log messages that the caller wants during the call; by default none.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// The server has logged something during the call, at this level or above. It must not block.
    fn on_log(&mut self, message: ServerLogMessage) {
        let _unread = message;
    }

    /// The server has refused the call, as the caller cannot be asked for these: capabilities, as the protocol writes
    /// them. It must not block.
    fn on_missing_capabilities(&mut self, required: &Value) {
        let _unread = required;
    }

    /// A request to an MCP server, which the call consists of, has ended. It must not block.
    fn on_request(&mut self, request: &McpRequest) {
        let _unobserved = request;
    }

    /// Asks the turn's model for a message that the tool's server wants. A person has allowed it. It is not part of the
    /// conversation; what it uses is recorded and counts for budgets. Dropping the future aborts it.
    ///
    /// # Errors
    ///
    /// Why there is no message; by default, there is no model.
    async fn sample(&mut self, request: SamplingRequest) -> Result<Reply, ModelFailure> {
        let _unanswered = request;
        let message = "there is no model for messages of tools here";
        let kind = ModelFailureKind::Unsupported;
        Err(ModelFailure::new(kind, Phase::BeforeSend, message))
    }

    /// The progress of the call: the amount done, the total if known, and a message.
    async fn on_progress(&mut self, done: f64, total: Option<f64>, message: Option<String>);
}

/// The handler for the outcome of a call that was given up. Dropping it means that no outcome arrived.
#[must_use = "an outcome that came late is to be told"]
pub struct LateOutcomeHandler(Box<dyn FnOnce(ToolResult) + Send + Sync>);

impl LateOutcomeHandler {
    /// Wraps a function, which must not block.
    pub fn new(handler: impl FnOnce(ToolResult) + Send + Sync + 'static) -> Self {
        Self(Box::new(handler))
    }

    /// Passes on the outcome. Never blocks.
    pub fn deliver(self, result: ToolResult) {
        (self.0)(result);
    }
}

impl fmt::Debug for LateOutcomeHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LateOutcomeHandler")
    }
}

/// How long an outcome may still be passed on after its call was given up.
pub const LATE_OUTCOME_LIMIT: Duration = Duration::from_secs(60);

/// Ignores all events.
#[async_trait]
impl ToolEvents for () {
    async fn on_accepted(&mut self, _handle: JobHandle) {}

    async fn on_progress(&mut self, _done: f64, _of: Option<f64>, _message: Option<String>) {}
}

/// A tool call that ended without an outcome, or a list that failed.
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

impl From<LeasePassed> for ToolError {
    fn from(passed: LeasePassed) -> Self {
        ToolFailure::from(passed).into()
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
