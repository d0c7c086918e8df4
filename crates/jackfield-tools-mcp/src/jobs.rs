//! Calls that continue after their first answer: tasks of the server, and calls that need more input.
//!
//! Both belong to the newer era: tasks are the extension `io.modelcontextprotocol/tasks`, and a call that needs
//! more input is answered with `input_required` and sent again with the input (MCP specification 2026-07-28, read
//! 2026-11-22).

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailure, ToolFailureKind};
use jackfield_domain::ids::IdempotencyKey;
use jackfield_domain::wait::JobHandle;
use serde_json::{Value, json};

use crate::call::ServerCall;
use crate::questions::Questions;

/// The contents of a job handle. Handles outlive their process, so later versions must still read this form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JobHandleForm {
    /// A call that stays open at its server, which waits for the answer.
    Held(HeldJob),
    /// A call that is sent again once its questions are answered.
    InputRequired(Box<InputRequest>),
    /// A task of the server.
    Task(TaskJob),
}

/// A call that stays open, in this process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldJob {
    pub(crate) key: IdempotencyKey,
    pub(crate) max_bytes: usize,
    /// The name of the held call.
    pub(crate) name: String,
    /// The question, under one key.
    pub(crate) questions: Questions,
    pub(crate) tool: String,
}

/// A task of the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskJob {
    /// The unanswered questions of the task.
    pub(crate) questions: Option<Questions>,
    pub(crate) id: String,
    pub(crate) max_bytes: usize,
    pub(crate) tool: String,
}

/// A call for which the server needs more input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InputRequest {
    pub(crate) call: ServerCall,
    pub(crate) max_bytes: usize,
    /// Whether the questions are pages to open, without which the server refused the call.
    pub(crate) is_for_pages: bool,
    pub(crate) questions: Questions,
    /// How many times the call was sent again so far.
    pub(crate) round: u64,
    /// The server's opaque state, which is sent back unchanged.
    pub(crate) state: Option<String>,
}

impl JobHandleForm {
    pub(crate) fn to_handle(&self) -> JobHandle {
        let json = match self {
            Self::Held(held) => json!({
                "key": held.key.as_str(),
                "kind": "held",
                "max_bytes": held.max_bytes,
                "name": held.name,
                "questions": held.questions.to_json(),
                "tool": held.tool,
            }),
            Self::InputRequired(asking) => json!({
                "arguments": asking.call.arguments,
                "key": asking.call.key.as_str(),
                "kind": "asking",
                "max_bytes": asking.max_bytes,
                "pages": asking.is_for_pages,
                "questions": asking.questions.to_json(),
                "round": asking.round,
                "state": asking.state,
                "tool": asking.call.tool,
            }),
            Self::Task(task) => json!({
                "kind": "task",
                "max_bytes": task.max_bytes,
                "questions": task.questions.as_ref().map(Questions::to_json),
                "task": task.id,
                "tool": task.tool,
            }),
        };
        JobHandle(Arc::new(json))
    }

    /// Reads a handle.
    ///
    /// # Errors
    ///
    /// If the handle has no known form; the outcome of its call is unknown then.
    pub(crate) fn from_handle(handle: &JobHandle) -> Result<Self, ToolFailure> {
        Self::read(&handle.0).ok_or_else(|| {
            ToolFailure::unknown(
                ToolFailureKind::Unavailable,
                "the call cannot be taken up again: its handle is not one of this server's",
            )
        })
    }

    fn read(json: &Value) -> Option<Self> {
        let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
        let max_bytes = usize::try_from(json.get("max_bytes")?.as_u64()?).ok()?;
        let tool = text("tool")?;
        match json.get("kind")?.as_str()? {
            "asking" => Some(Self::InputRequired(Box::new(InputRequest {
                call: ServerCall {
                    arguments: json.get("arguments")?.as_object()?.clone(),
                    key: IdempotencyKey::parse(&text("key")?).ok()?,
                    tool,
                },
                max_bytes,
                // Handles of earlier versions do not have it.
                is_for_pages: json.get("pages").and_then(Value::as_bool) == Some(true),
                questions: Questions::from_json(json.get("questions")?)?,
                round: json.get("round")?.as_u64()?,
                state: text("state"),
            }))),
            "held" => Some(Self::Held(HeldJob {
                key: IdempotencyKey::parse(&text("key")?).ok()?,
                max_bytes,
                name: text("name")?,
                questions: Questions::from_json(json.get("questions")?)?,
                tool,
            })),
            "task" => Some(Self::Task(TaskJob {
                questions: json.get("questions").and_then(Questions::from_json),
                id: text("task")?,
                max_bytes,
                tool,
            })),
            _ => None,
        }
    }
}

/// The state of a task, as reported by the server.
#[derive(Debug)]
pub(crate) enum TaskState {
    InputRequired(Questions),
    Cancelled,
    Completed(Value),
    Failed(String),
    Working {
        /// The pause before the next poll.
        pause: Duration,
        message: Option<String>,
    },
}

/// The task in an answer: either the field `task`, or the answer itself.
fn task_of(answer: &Value) -> &Value {
    answer
        .get("task")
        .filter(|task| task.is_object())
        .unwrap_or(answer)
}

pub(crate) fn task_id(answer: &Value) -> Option<String> {
    task_of(answer).get("taskId")?.as_str().map(str::to_owned)
}

/// The state of the task in an answer.
///
/// # Errors
///
/// If the answer has no valid state. The task may still be running.
pub(crate) fn task_state(answer: &Value) -> Result<TaskState, ToolFailure> {
    let task = task_of(answer);
    // Some servers put the state's fields beside the task, others into it.
    let field = |name: &str| answer.get(name).or_else(|| task.get(name));
    let message = task.get("statusMessage").and_then(Value::as_str);
    match task.get("status").and_then(Value::as_str) {
        Some("cancelled") => Ok(TaskState::Cancelled),
        Some("completed") => {
            let result = field("result").cloned().unwrap_or_default();
            Ok(TaskState::Completed(result))
        }
        Some("failed") => {
            let error = field("error").and_then(|error| error.get("message"));
            let error = error.and_then(Value::as_str).or(message);
            let error = error.unwrap_or("no reason given");
            Ok(TaskState::Failed(error.to_owned()))
        }
        Some("input_required") => Ok(TaskState::InputRequired(Questions::from_answer(
            if answer.get("inputRequests").is_some() {
                answer
            } else {
                task
            },
        ))),
        Some("working") => {
            let millis = task.get("pollIntervalMs").and_then(Value::as_u64);
            let pause = millis.map_or(POLL, Duration::from_millis);
            Ok(TaskState::Working {
                message: message.map(str::to_owned),
                pause: pause.clamp(FASTEST_POLL, SLOWEST_POLL),
            })
        }
        _ => Err(ToolFailure {
            disposition: Disposition::Unknown,
            kind: ToolFailureKind::ProtocolViolation,
            message: "the server does not say how its task is".to_owned(),
        }),
    }
}

/// The shortest polling interval of a task.
const FASTEST_POLL: Duration = Duration::from_millis(50);
/// The polling interval if the server suggests none.
const POLL: Duration = Duration::from_secs(1);
/// The longest polling interval of a task.
const SLOWEST_POLL: Duration = Duration::from_secs(60);
