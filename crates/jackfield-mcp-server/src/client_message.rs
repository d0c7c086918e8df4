//! Parses one line from a client.
//!
//! Any line is answered or ignored as JSON-RPC 2.0 requires (section 5.1), and never ends the connection. Batches
//! are refused: one revision of the protocol had them (2025-03-26), and the next one removed them.

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, ProtocolVersion,
    RequestId,
};
use serde_json::{Map, Value, json};

use crate::lines::Line;

/// A parsed message from a client.
#[derive(Debug)]
pub(crate) enum ClientMessage {
    /// The client cancels this request.
    Cancelled(RequestId),
    /// A message without an effect or a response.
    Ignored,
    Notification(Box<ClientNotification>),
    /// A request that is refused. The response has no id if the message had none.
    Refused {
        error: ErrorData,
        id: Option<RequestId>,
    },
    /// A response to a request of this server.
    Response {
        id: RequestId,
        response: Box<ClientJsonRpcMessage>,
    },
    Request {
        id: RequestId,
        request: Box<ClientRequest>,
    },
}

impl ClientMessage {
    pub(crate) fn read(line: &Line, max: usize) -> Self {
        match line {
            Line::TooLong => Self::too_long(max),
            Line::Whole(bytes) => Self::parse(bytes, max),
        }
    }

    /// Parses a message, if it is not longer than this.
    pub(crate) fn parse(bytes: &[u8], max: usize) -> Self {
        if bytes.len() > max {
            return Self::too_long(max);
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(message)) => Self::message(message),
            Ok(Value::Array(_)) => refused(
                ErrorCode::INVALID_REQUEST,
                "batches are not taken: send one message a line",
                None,
            ),
            Ok(_) => refused(
                ErrorCode::INVALID_REQUEST,
                "a message is a JSON object",
                None,
            ),
            Err(error) => refused(
                ErrorCode::PARSE_ERROR,
                format!("this is not JSON: {error}"),
                None,
            ),
        }
    }

    fn too_long(max: usize) -> Self {
        let message = format!("a message may have at most {max} bytes");
        refused(ErrorCode::INVALID_REQUEST, message, None)
    }

    fn message(mut message: Map<String, Value>) -> Self {
        let id = message.get("id").map(request_id);
        let known = id.clone().flatten();
        let Some(method) = message.get("method") else {
            // An error in reply to an error could loop.
            if message.contains_key("result") || message.contains_key("error") {
                return Self::response(known, message);
            }
            return refused(ErrorCode::INVALID_REQUEST, "there is no `method`", known);
        };
        let Some(method) = method.as_str().map(str::to_owned) else {
            return refused(ErrorCode::INVALID_REQUEST, "`method` is no string", known);
        };
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return match id {
                Some(_) => refused(
                    ErrorCode::INVALID_REQUEST,
                    "`jsonrpc` is not \"2.0\"",
                    known,
                ),
                None => Self::Ignored,
            };
        }
        let params = message.remove("params");
        if id.is_some() && method == "initialize" && is_modern(params.as_ref()) {
            let why = "the revision of this request has no `initialize`";
            return refused(ErrorCode::METHOD_NOT_FOUND, why, known);
        }
        match id {
            None => Self::notification(&method, params),
            Some(None) => refused(
                ErrorCode::INVALID_REQUEST,
                "`id` is neither a string nor an integer",
                None,
            ),
            Some(Some(id)) => match request(&method, params) {
                Ok(request) => Self::Request { id, request },
                Err(message) => refused(ErrorCode::INVALID_PARAMS, message, Some(id)),
            },
        }
    }

    /// A response that cannot be read is ignored.
    fn response(id: Option<RequestId>, message: Map<String, Value>) -> Self {
        match (id, serde_json::from_value(Value::Object(message))) {
            (Some(id), Ok(response)) => Self::Response {
                id,
                response: Box::new(response),
            },
            _ => Self::Ignored,
        }
    }

    /// A notification has no response, so an invalid one is ignored.
    fn notification(method: &str, params: Option<Value>) -> Self {
        if method == "notifications/cancelled" {
            let id = params.as_ref().and_then(|params| params.get("requestId"));
            return id
                .and_then(request_id)
                .map_or(Self::Ignored, Self::Cancelled);
        }
        serde_json::from_value(with_params(method, params)).map_or(Self::Ignored, |notification| {
            Self::Notification(Box::new(notification))
        })
    }
}

/// Whether a request says that it is of a revision without a handshake.
fn is_modern(params: Option<&Value>) -> bool {
    let version = params.and_then(|params| params.get("_meta")?.get(VERSION)?.as_str());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Parses a request; an error if its parameters do not match its method.
fn request(method: &str, params: Option<Value>) -> Result<Box<ClientRequest>, String> {
    if !params
        .as_ref()
        .is_none_or(|params| params.is_object() || params.is_null())
    {
        return Err("`params` is no object".to_owned());
    }
    let unreadable = || format!("the parameters of `{method}` cannot be read");
    let request: ClientRequest =
        serde_json::from_value(with_params(method, params)).map_err(|_| unreadable())?;
    // `rmcp` parses a known method with wrong parameters as a custom request.
    if matches!(request, ClientRequest::CustomRequest(_)) && OURS.contains(&method) {
        return Err(unreadable());
    }
    Ok(Box::new(request))
}

fn with_params(method: &str, params: Option<Value>) -> Value {
    match params {
        Some(params) if !params.is_null() => json!({ "method": method, "params": params }),
        Some(_) | None => json!({ "method": method }),
    }
}

fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Object(_) => None,
    }
}

fn refused(code: ErrorCode, message: impl Into<String>, id: Option<RequestId>) -> ClientMessage {
    ClientMessage::Refused {
        error: ErrorData::new(code, message.into(), None),
        id,
    }
}

const OURS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tools/call",
    "tools/list",
];
/// The key in `_meta` of a request for its revision (MCP 2026-07-28, read 2026-11-29).
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
