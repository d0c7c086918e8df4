//! Parses a line of a server's output.

use std::fmt::Display;

use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::answer::RpcAnswer;
use crate::lines::Line;
use crate::questions::{QuestionMethod, Refusal};
use crate::repair::{repaired, trim_partial_character};
use crate::scan::{IdFinder, complete_truncated};

#[derive(Debug)]
pub(crate) enum ServerMessage {
    Answer {
        answer: RpcAnswer,
        id: RequestId,
    },
    /// An error response; without an id it belongs to no request.
    Error {
        error: ErrorData,
        id: Option<RequestId>,
    },
    Log(ServerLog),
    /// A line that is not a protocol message.
    Noise(Vec<u8>),
    Notification {
        method: String,
        params: Value,
    },
    /// A question to a person or the model, by a server of the older era.
    Question(ServerQuestion),
    /// Another request to the client.
    Request(Box<ServerJsonRpcMessage>),
    /// A response that cannot be parsed, with the reason.
    Unreadable {
        id: RequestId,
        line: Vec<u8>,
        reason: String,
    },
}

/// A log message (MCP 2026-07-28, "Logging", read 2026-11-29).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerLog {
    /// The call that it belongs to, if the link can tell.
    pub(crate) during: Option<RequestId>,
    pub(crate) params: Value,
}

/// A question to a person or the model (MCP 2025-11-25, "Elicitation" and "Sampling", read 2026-11-26).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerQuestion {
    /// The call that it belongs to, if the link can tell.
    pub(crate) during: Option<RequestId>,
    /// The id of the server's request.
    pub(crate) id: RequestId,
    pub(crate) method: QuestionMethod,
    pub(crate) params: Value,
}

impl ServerQuestion {
    /// The reply with this result, as JSON.
    pub(crate) fn reply(&self, result: &Value) -> Vec<u8> {
        let id = self.id.clone().into_json_value();
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
            .to_string()
            .into_bytes()
    }

    /// The reply of a person who gave up the call.
    pub(crate) fn dismiss(&self) -> Vec<u8> {
        match self.method {
            QuestionMethod::Elicitation => self.reply(&json!({ "action": "cancel" })),
            QuestionMethod::Sampling => self.refuse(&Refusal::rejected()),
        }
    }

    /// The reply without what the server asked for, with the reason where the protocol has a place for it.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> Vec<u8> {
        let id = self.id.clone().into_json_value();
        match self.method {
            QuestionMethod::Elicitation => self.reply(&json!({ "action": "decline" })),
            QuestionMethod::Sampling => {
                let error = json!({ "code": refusal.code, "message": refusal.public_reason() });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
                    .to_string()
                    .into_bytes()
            }
        }
    }
}

/// A message, and whether its JSON had to be repaired.
#[derive(Debug)]
pub(crate) struct ReadMessage {
    pub(crate) repaired: bool,
    pub(crate) message: ServerMessage,
}

#[derive(Deserialize)]
struct RpcEnvelope<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

impl ReadMessage {
    pub(crate) fn read(mut line: Line) -> Self {
        let bytes = match &mut line {
            Line::Cut { prefix: kept, .. } => {
                trim_partial_character(kept);
                kept
            }
            Line::Whole(bytes) => bytes,
        };
        let repaired_bytes = repaired(bytes);
        let repaired = repaired_bytes.is_some();
        let message = match line {
            Line::Cut {
                id,
                prefix: kept,
                length: sent,
            } => {
                let kept = repaired_bytes.unwrap_or(kept);
                let read = ServerMessage::read_cut(id.as_deref(), &kept, sent);
                read.unwrap_or_else(|| ServerMessage::unreadable(id.as_deref(), kept, &TOO_LONG))
            }
            Line::Whole(bytes) => {
                let bytes = repaired_bytes.unwrap_or(bytes);
                match ServerMessage::read_whole(&bytes) {
                    Ok(said) => said.unwrap_or(ServerMessage::Noise(bytes)),
                    Err(error) => {
                        let mut finder = IdFinder::default();
                        finder.feed(&bytes);
                        ServerMessage::unreadable(finder.id(), bytes, &error)
                    }
                }
            }
        };
        let repaired = repaired && !matches!(message, ServerMessage::Noise(_));
        Self { repaired, message }
    }
}

impl ServerMessage {
    /// A line that cannot be parsed: a response to the request with this id if it looks like one, otherwise noise.
    fn unreadable(id: Option<&[u8]>, line: Vec<u8>, reason: &dyn Display) -> Self {
        let has = |part: &str| line.windows(part.len()).any(|at| at == part.as_bytes());
        let is_answer =
            has("\"jsonrpc\"") && (has("\"result\"") || has("\"error\"") || !has("\"method\""));
        let id = id.filter(|_| is_answer);
        match id.and_then(|id| serde_json::from_slice(id).ok()) {
            Some(id) => {
                let why = reason.to_string();
                Self::Unreadable {
                    id,
                    line,
                    reason: why,
                }
            }
            None => Self::Noise(line),
        }
    }

    fn read_cut(id: Option<&[u8]>, prefix: &[u8], length: usize) -> Option<Self> {
        let id = serde_json::from_slice(id?).ok()?;
        let text = complete_truncated(prefix)?;
        let envelope: RpcEnvelope<'_> = serde_json::from_str(&text).ok()?;
        let text = envelope.result?.get().to_owned();
        let cut_from = Some(length);
        let answer = RpcAnswer { cut_from, text };
        Some(Self::Answer { answer, id })
    }

    /// Parses a whole line; `None` if it is JSON but not a protocol message.
    fn read_whole(bytes: &[u8]) -> Result<Option<Self>, serde_json::Error> {
        let envelope: RpcEnvelope<'_> = serde_json::from_slice(bytes)?;
        Ok(Self::from_envelope(&envelope, bytes))
    }

    fn from_envelope(envelope: &RpcEnvelope<'_>, bytes: &[u8]) -> Option<Self> {
        let id: Option<RequestId> = match envelope.id {
            Some(id) => Some(serde_json::from_str(id.get()).ok()?),
            None => None,
        };
        match (envelope.method.clone(), id) {
            (Some(method), Some(id)) => {
                if let Some(method) = QuestionMethod::parse(&method) {
                    let params = envelope.params.map(RawValue::get);
                    let params = params.and_then(|text| serde_json::from_str(text).ok());
                    return Some(Self::Question(ServerQuestion {
                        during: None,
                        id,
                        method,
                        params: params.unwrap_or_default(),
                    }));
                }
                let request = serde_json::from_slice(bytes).ok()?;
                Some(Self::Request(Box::new(request)))
            }
            (Some(method), None) => {
                let params = envelope.params.map(RawValue::get);
                let params = params.and_then(|text| serde_json::from_str(text).ok());
                let params = params.unwrap_or_default();
                Some(if method == "notifications/message" {
                    let during = None;
                    Self::Log(ServerLog { during, params })
                } else {
                    Self::Notification { method, params }
                })
            }
            (None, id) => {
                if let Some(error) = envelope.error {
                    let error = error_data(error.get());
                    return Some(Self::Error { error, id });
                }
                let answer = RpcAnswer {
                    cut_from: None,
                    text: envelope.result.map_or("null", RawValue::get).to_owned(),
                };
                id.map(|id| Self::Answer { answer, id })
            }
        }
    }
}

/// An error object, with as many of its fields as are valid.
pub(crate) fn error_data(text: &str) -> ErrorData {
    let object: Value = serde_json::from_str(text).unwrap_or_default();
    let code = object.get("code").and_then(Value::as_i64);
    let code = code.and_then(|code| i32::try_from(code).ok());
    let message = object.get("message").and_then(Value::as_str);
    ErrorData {
        code: ErrorCode(code.unwrap_or(ErrorCode::INTERNAL_ERROR.0)),
        data: object.get("data").cloned(),
        message: message.unwrap_or("no reason given").to_owned().into(),
    }
}

/// The reason for a cut response that cannot be completed to useful JSON.
const TOO_LONG: &str = "it is too long, and its beginning says nothing";
