//! A line from a server, taken apart.

use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lines::Line;
use crate::scan::mended;

/// What a server said.
#[derive(Debug)]
pub(crate) enum Said {
    /// An answer.
    Answer { answer: Answer, id: RequestId },
    /// A refusal; without an id it belongs to nothing.
    Error {
        error: ErrorData,
        id: Option<RequestId>,
    },
    /// Nothing that belongs to the protocol.
    Noise(Vec<u8>),
    /// Something by the way.
    Notification { method: String, params: Value },
    /// A question to us.
    Request(Box<ServerJsonRpcMessage>),
}

/// The answer to a request, as JSON text: whoever asked knows how to read it.
///
/// Read by its reader and not here, because a list with one tool that makes no sense is still a list,
/// and because text can be nested deeper than a parser goes without being parsed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Answer {
    /// How many bytes the message had, if the text is only the beginning of it, made whole.
    pub(crate) cut_from: Option<usize>,
    /// The text.
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct Envelope<'a> {
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

impl Said {
    pub(crate) fn read(line: Line) -> Self {
        match line {
            Line::Cut { id, kept, sent } => {
                Self::read_cut(id.as_deref(), &kept, sent).unwrap_or(Self::Noise(kept))
            }
            Line::Whole(bytes) => Self::read_whole(&bytes).unwrap_or(Self::Noise(bytes)),
        }
    }

    fn read_cut(id: Option<&[u8]>, kept: &[u8], sent: usize) -> Option<Self> {
        let id = serde_json::from_slice(id?).ok()?;
        let text = mended(kept)?;
        let envelope: Envelope<'_> = serde_json::from_str(&text).ok()?;
        let text = envelope.result?.get().to_owned();
        let cut_from = Some(sent);
        let answer = Answer { cut_from, text };
        Some(Self::Answer { answer, id })
    }

    fn read_whole(bytes: &[u8]) -> Option<Self> {
        let envelope: Envelope<'_> = serde_json::from_slice(bytes).ok()?;
        let id: Option<RequestId> = match envelope.id {
            Some(id) => Some(serde_json::from_str(id.get()).ok()?),
            None => None,
        };
        match (envelope.method, id) {
            (Some(_), Some(_)) => {
                let request = serde_json::from_slice(bytes).ok()?;
                Some(Self::Request(Box::new(request)))
            }
            (Some(method), None) => {
                let params = envelope.params.map(RawValue::get);
                let params = params.and_then(|text| serde_json::from_str(text).ok());
                let params = params.unwrap_or_default();
                Some(Self::Notification { method, params })
            }
            (None, id) => {
                if let Some(error) = envelope.error {
                    let error = error_data(error.get());
                    return Some(Self::Error { error, id });
                }
                let answer = Answer {
                    cut_from: None,
                    text: envelope.result.map_or("null", RawValue::get).to_owned(),
                };
                id.map(|id| Self::Answer { answer, id })
            }
        }
    }
}

/// An error object, with whatever of it makes sense.
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

/// An answer goes through `rmcp` as a result that it does not know, and so does not read.
impl From<Answer> for Value {
    fn from(answer: Answer) -> Self {
        match answer.cut_from {
            None => Self::String(answer.text),
            Some(sent) => Self::Array(vec![Self::String(answer.text), sent.into()]),
        }
    }
}

impl Answer {
    /// Takes out what was put in.
    pub(crate) fn from_carried(carried: Value) -> Option<Self> {
        match carried {
            Value::String(text) => Some(Self {
                cut_from: None,
                text,
            }),
            Value::Array(parts) => {
                let [Value::String(text), sent] = &parts[..] else {
                    return None;
                };
                let cut_from = sent.as_u64().and_then(|sent| usize::try_from(sent).ok());
                let text = text.clone();
                Some(Self { cut_from, text })
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_) => None,
        }
    }
}
