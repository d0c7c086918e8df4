//! The lines of the stream-JSON and control protocol, one JSON object per line.
//!
//! Read in `sdk.d.ts` of `@anthropic-ai/claude-agent-sdk` 0.3.331, and seen from Claude Code 2.1.332 on 2026-11-26.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A line from Claude Code.
#[derive(Debug)]
pub(crate) enum Line {
    /// A block of a message, or a message that Claude Code wrote itself about a failure.
    Assistant {
        /// The kind of failure, such as `authentication_failed`.
        error: Option<String>,
        /// The line's id in the session, if it belongs to the main conversation.
        id: Option<String>,
    },
    /// The question with this id needs no answer any more.
    Cancelled(String),
    /// A question that we have to answer.
    Control {
        id: String,
        request: Map<String, Value>,
    },
    /// An answer to a request of ours: what it says, or the error.
    Answer(Result<Map<String, Value>, String>),
    /// An event of the model's stream, in the main conversation.
    Event(Map<String, Value>),
    /// The first line of a turn.
    Init { version: Option<String> },
    /// The end of the turn.
    Result(Box<TurnResult>),
    /// The result of a tool, as the model gets it: the blocks of the message.
    ToolResults(Vec<Value>),
    /// Any other line of the protocol.
    Other,
}

/// The end of a turn (`SDKResultMessage`). A failure of the API has the subtype `success`, and `is_error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TurnResult {
    pub(crate) api_error_status: Option<u16>,
    pub(crate) errors: Vec<String>,
    pub(crate) is_error: bool,
    pub(crate) result: Option<String>,
    /// The answer in the form of the schema.
    pub(crate) structured_output: Option<Value>,
    pub(crate) subtype: String,
    pub(crate) total_cost_usd: Option<f64>,
    pub(crate) usage: Option<TurnUsage>,
}

/// The tokens of all replies of a process, of the main conversation alone.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TurnUsage {
    pub(crate) cache_creation_input_tokens: Option<u64>,
    pub(crate) cache_read_input_tokens: Option<u64>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
}

impl Line {
    /// Reads a line; `None` if it is not a JSON object with a type.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(line) else {
            return None;
        };
        let kind = take_text(&mut fields, "type")?;
        // Messages of a subagent name the call that started it.
        let is_main = fields.get("parent_tool_use_id").is_none_or(Value::is_null);
        Some(match &*kind {
            "assistant" => Self::Assistant {
                error: take_text(&mut fields, "error"),
                id: take_text(&mut fields, "uuid").filter(|_| is_main),
            },
            "control_cancel_request" => match take_text(&mut fields, "request_id") {
                Some(id) => Self::Cancelled(id),
                None => Self::Other,
            },
            "control_request" => {
                let request = take_object(&mut fields, "request").unwrap_or_default();
                match take_text(&mut fields, "request_id") {
                    Some(id) => Self::Control { id, request },
                    None => Self::Other,
                }
            }
            "control_response" => {
                let mut response = take_object(&mut fields, "response").unwrap_or_default();
                let failed = response.get("subtype").and_then(Value::as_str) == Some("error");
                Self::Answer(if failed {
                    Err(take_text(&mut response, "error").unwrap_or_default())
                } else {
                    Ok(take_object(&mut response, "response").unwrap_or_default())
                })
            }
            "result" => {
                // The type is known, and a field of another type is read as if it were missing.
                let result = serde_json::from_value(Value::Object(fields));
                Self::Result(Box::new(result.unwrap_or_else(|_| TurnResult {
                    is_error: true,
                    ..TurnResult::default()
                })))
            }
            "stream_event" if is_main => match take_object(&mut fields, "event") {
                Some(event) => Self::Event(event),
                None => Self::Other,
            },
            "system" if fields.get("subtype").and_then(Value::as_str) == Some("init") => {
                Self::Init {
                    version: take_text(&mut fields, "claude_code_version"),
                }
            }
            "user" if is_main => {
                let mut message = take_object(&mut fields, "message").unwrap_or_default();
                match message.remove("content") {
                    Some(Value::Array(blocks)) => Self::ToolResults(blocks),
                    Some(_) | None => Self::Other,
                }
            }
            _ => Self::Other,
        })
    }
}

/// The first line to Claude Code. An empty system prompt is left to Claude Code.
pub(crate) fn initialize(system: &str, appended: bool) -> Value {
    let mut request = json!({
        "subtype": "initialize",
        // Otherwise a resumed session keeps the prompt that it began with.
        "systemPromptSnapshot": false,
    });
    if !system.is_empty() {
        if appended {
            request["appendSystemPrompt"] = json!(system);
        } else {
            request["systemPrompt"] = json!([system]);
        }
    }
    json!({ "type": "control_request", "request_id": "initialize", "request": request })
}

/// A message of the user, as blocks of the Messages API.
pub(crate) fn user(content: &[Value]) -> Value {
    json!({
        "type": "user",
        "message": { "role": "user", "content": content },
        "parent_tool_use_id": null,
        "session_id": "",
    })
}

/// The answer to a control request.
pub(crate) fn answer(id: &str, response: &Value) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": id, "response": response },
    })
}

/// The answer to a control request that cannot be answered.
pub(crate) fn refusal(id: &str, why: &str) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": id, "error": why },
    })
}

pub(crate) fn take_text(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    match fields.remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(_) | None => None,
    }
}

fn take_object(fields: &mut Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
    match fields.remove(key) {
        Some(Value::Object(object)) => Some(object),
        Some(_) | None => None,
    }
}
