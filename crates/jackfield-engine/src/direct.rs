//! Tool calls outside any turn, made by a caller other than a model.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId};
use jackfield_domain::limits::Limits;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ToolRun;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::CatalogEntry;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::trace::TraceContext;
use jackfield_domain::wait::{ElicitationAnswer, JobHandle, Question};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::question_handler::{Askable, QuestionHandler};
use jackfield_ports::sampling::SamplingRequest;
use jackfield_ports::server_log::{LogLevel, ServerLogMessage};
use jackfield_ports::toolbox::{ToolEnd, ToolEvents, Toolbox};
use jackfield_ports::toolbox_source::ToolboxSet;
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::EngineError;
use crate::options::TurnOptions;
use crate::perform::tool::{resume_tool, run_tool};
use crate::state::{Engine, EngineState};
use crate::toolboxes;

/// The lowest level of log messages that are wanted, and their callback, which must not block.
pub type WantedLog = (LogLevel, Box<dyn FnMut(ServerLogMessage) + Send>);

/// A tool call outside any turn.
pub struct DirectCall {
    /// The arguments; they are validated against the tool's schema.
    pub arguments: Map<String, Value>,
    /// The idempotency key; generated if `None`.
    pub key: Option<IdempotencyKey>,
    /// The server's log messages that are wanted.
    pub log: Option<WantedLog>,
    /// The progress callback; it must not block.
    pub progress: Box<dyn FnMut(CallProgress) + Send>,
    /// Answers the tool's own questions; without it, they are declined.
    pub questions: Option<Box<dyn QuestionHandler>>,
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
            log: None,
            progress: Box::new(drop),
            questions: None,
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
    /// The capabilities, as MCP writes them, without which the tool's server refused the call.
    pub missing: Option<Value>,
    /// The content blocks as the tool's server sent them, if available. They match the outcome's parts in order,
    /// except where the outcome was changed afterwards.
    pub original: Vec<Value>,
    /// The outcome.
    pub result: ToolResult,
}

impl From<ToolResult> for DirectOutcome {
    fn from(result: ToolResult) -> Self {
        Self {
            missing: None,
            original: Vec::new(),
            result,
        }
    }
}

/// Forwards the events of a call to the caller.
struct CallerEvents {
    /// The message of a model that the caller has given.
    given: Option<Value>,
    log: Option<WantedLog>,
    missing: Option<Value>,
    original: Vec<Value>,
    progress: Box<dyn FnMut(CallProgress) + Send>,
    questions: Option<Box<dyn QuestionHandler>>,
    trace: Option<TraceContext>,
}

impl CallerEvents {
    /// Asks the caller. A message that it gives is kept for the server, and the answer is a yes then.
    async fn answer(&mut self, question: &Question) -> ElicitationAnswer {
        let Some(questions) = &mut self.questions else {
            return ElicitationAnswer::Declined;
        };
        let answer = timeout(MAX_ANSWER, questions.answer(question)).await;
        let answer = answer.unwrap_or(ElicitationAnswer::Dismissed);
        if question.sampling.is_none() {
            return answer;
        }
        let yes = || ElicitationAnswer::Accepted(Arc::new(Value::Object(Map::new())));
        match answer {
            ElicitationAnswer::Accepted(message) => {
                self.given = Some(Arc::unwrap_or_clone(message));
                yes()
            }
            ElicitationAnswer::Declined => ElicitationAnswer::Declined,
            // Nobody has refused it: the server learns that there is no message.
            ElicitationAnswer::Dismissed => yes(),
        }
    }
}

#[async_trait]
impl ToolEvents for CallerEvents {
    fn askable(&self) -> Askable {
        let questions = self.questions.as_ref();
        questions.map_or(Askable::NOTHING, |questions| questions.askable())
    }

    async fn roots(&mut self) -> Vec<Value> {
        match &mut self.questions {
            Some(questions) => questions.roots().await,
            None => Vec::new(),
        }
    }

    fn given_message(&mut self) -> Option<Value> {
        self.given.take()
    }

    async fn sample(&mut self, _request: SamplingRequest) -> Result<Reply, ModelFailure> {
        let (kind, message) = (ModelFailureKind::Unsupported, "the client gave none");
        Err(ModelFailure::new(kind, Phase::BeforeSend, message))
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.log.as_ref().map(|(level, _)| *level)
    }

    fn on_log(&mut self, message: ServerLogMessage) {
        if let Some((_, log)) = &mut self.log {
            log(message);
        }
    }

    fn on_missing_capabilities(&mut self, required: &Value) {
        self.missing = Some(required.clone());
    }

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

impl Engine {
    /// Runs one tool by its model-facing name, outside any turn. The policy is not consulted.
    ///
    /// Lists all tools first, to resolve the name. For many calls, get the [tools](Self::tools) once, and use
    /// [`call_offered`](Self::call_offered).
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownTool`]. A failure of the call itself is part of its result.
    pub async fn call_tool(
        &self,
        options: &TurnOptions,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolResult, EngineError> {
        let offered = self.tools(options).await;
        let Some(tool) = offered.catalog.tool(name) else {
            let known = offered
                .catalog
                .iter()
                .map(|tool| tool.definition.name.to_string());
            return Err(EngineError::UnknownTool {
                known: known.collect(),
                name: name.to_owned(),
            });
        };
        Ok(self
            .call_offered(options, tool, DirectCall::new(arguments))
            .await)
    }

    /// Runs one tool from [`Engine::tools`], outside any turn. The policy is not consulted: its decision is in
    /// the tool's permission. Dropping the future aborts the tool.
    pub async fn call_offered(
        &self,
        options: &TurnOptions,
        tool: &CatalogEntry,
        call: DirectCall,
    ) -> ToolResult {
        self.call_offered_raw(options, tool, call).await.result
    }

    /// Like [`call_offered`](Self::call_offered), for a caller that forwards the outcome to another program:
    /// includes the content blocks as the tool's server sent them.
    pub async fn call_offered_raw(
        &self,
        options: &TurnOptions,
        tool: &CatalogEntry,
        call: DirectCall,
    ) -> DirectOutcome {
        let toolboxes = self.shared.toolboxes_of(options.caller.as_deref()).await;
        call_direct(&self.shared, toolboxes, tool, call, &options.limits).await
    }
}

/// Runs one tool outside any turn, within its time limit. Dropping the future aborts the tool.
async fn call_direct(
    shared: &Arc<EngineState>,
    toolboxes: Arc<ToolboxSet>,
    tool: &CatalogEntry,
    call: DirectCall,
    limits: &Limits,
) -> DirectOutcome {
    let DirectCall {
        arguments,
        key,
        log,
        progress,
        questions,
        trace,
    } = call;
    let Ok(call) = ToolCallId::parse(&direct_call_id(shared.clock.now().wall)) else {
        return ToolResult::error("the call has no id").into();
    };
    let time_limit = tool.time_limit.unwrap_or(limits.tool_call);
    let run = ToolRun {
        fresh: false,
        input: ToolInput::Json(JsonInput::from(arguments)),
        key: key.unwrap_or_else(|| IdempotencyKey::derive(&call)),
        max_bytes: limits.stored,
        time_limit,
        tool: tool.origin.clone(),
        attempt: ToolAttempt { call, attempt: 1 },
    };
    // In its own task, so that a panic in the tool does not affect the caller.
    let (shared, tool) = (Arc::clone(shared), tool.clone());
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut events = CallerEvents {
            given: None,
            log,
            missing: None,
            original: Vec::new(),
            progress,
            questions,
            trace,
        };
        let context = CallContext::default();
        let running = run_tool(
            &shared,
            &toolboxes,
            Some(&tool),
            &run,
            &context,
            &mut events,
        );
        let mut ended = timeout(time_limit, running).await;
        let mut asked = 0;
        while let Ok(Ok(ToolEnd::Asked { handle, question })) = &ended {
            asked += 1;
            let toolbox = toolboxes::find_or_fail(&toolboxes, &run.tool.toolbox).ok();
            let mut open = OpenQuestion::new(toolbox, handle);
            if asked > MAX_QUESTIONS {
                break;
            }
            let answer = events.answer(question).await;
            open.answered();
            let resuming = resume_tool(
                &shared,
                &toolboxes,
                (&run.tool, Some(&tool)),
                (handle, Some(&answer)),
                &context,
                &mut events,
            );
            let resumed = timeout(time_limit, resuming).await;
            drop(open);
            ended = resumed;
        }
        (ended, events.original, events.missing)
    });
    let Some(Ok((ended, original, missing))) = task.join_next().await else {
        return ToolResult::error("the tool crashed").into();
    };
    let result = match ended {
        Ok(Ok(ToolEnd::Finished(result))) => {
            return DirectOutcome {
                missing,
                original,
                result,
            };
        }
        Ok(Ok(ToolEnd::Asked { question, .. })) => {
            ToolResult::error(format!("the tool asks for something: {}", question.message))
        }
        Ok(Err(error)) => ToolResult::error(error.to_string()),
        Err(_) => ToolResult::error(format!("no answer within {} s", time_limit.as_secs_f64())),
    };
    result.into()
}

/// A question without an answer. Dropping it gives up the call at its tool.
struct OpenQuestion {
    handle: JobHandle,
    toolbox: Option<Arc<dyn Toolbox>>,
}

impl OpenQuestion {
    fn new(toolbox: Option<&Arc<dyn Toolbox>>, handle: &JobHandle) -> Self {
        Self {
            handle: handle.clone(),
            toolbox: toolbox.map(Arc::clone),
        }
    }

    fn answered(&mut self) {
        self.toolbox = None;
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if let Some(toolbox) = &self.toolbox {
            toolbox.abandon(&self.handle);
        }
    }
}

/// A unique call id: tools may treat two calls with one id as the same call.
fn direct_call_id(now: WallTime) -> String {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let nth = CALLS.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    format!("hand_{:x}_{process:x}_{nth:x}", now.as_millis())
}

/// The longest wait for an answer to a tool's question: shorter than a server's call is held open for it.
const MAX_ANSWER: Duration = Duration::from_secs(50 * 60);
/// How many questions a tool may ask in a call.
const MAX_QUESTIONS: usize = 10;
