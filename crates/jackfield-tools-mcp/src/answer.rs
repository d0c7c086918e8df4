//! The answer to a request, or why there is none.

use rmcp::model::{ErrorData, ServerResult};
use rmcp::service::ServiceError;
use serde_json::Value;
use thiserror::Error;

use crate::failure::LinkFailure;

/// The response to a request, as JSON text that the requester parses.
///
/// It is not parsed here, as a list with one invalid tool is still a list, and as text may be nested deeper than a
/// parser's limit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RpcAnswer {
    /// The size of the message in bytes, if the text is only its beginning, completed to valid JSON.
    pub(crate) cut_from: Option<usize>,
    pub(crate) text: String,
}

/// Why a request has no answer.
#[derive(Clone, Debug, Error)]
pub(crate) enum RequestError {
    #[error("the connection closed")]
    Closed,
    #[error("{0}")]
    Failed(Box<LinkFailure>),
    #[error("it did not answer in time")]
    Late,
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
    #[error("{} ({})", .0.message, .0.code.0)]
    Refused(Box<ErrorData>),
}

/// `rmcp` carries a response as a result of an unknown type, which it does not parse.
impl From<RpcAnswer> for Value {
    fn from(answer: RpcAnswer) -> Self {
        match answer.cut_from {
            None => Self::String(answer.text),
            Some(sent) => Self::Array(vec![Self::String(answer.text), sent.into()]),
        }
    }
}

/// An unreadable response in the form in which `rmcp` carries it.
pub(crate) fn carried_unreadable(why: String) -> Value {
    serde_json::json!({ "unreadable": why })
}

/// A failure of the link in the form in which `rmcp` carries it.
pub(crate) fn carried_failure(failure: &LinkFailure) -> Value {
    serde_json::json!({ "failed": failure })
}

impl RpcAnswer {
    /// Converts the carried value back.
    pub(crate) fn from_carried(carried: Value) -> Result<Self, RequestError> {
        match carried {
            Value::String(text) => Ok(Self {
                cut_from: None,
                text,
            }),
            Value::Array(parts) => {
                let [Value::String(text), sent] = &parts[..] else {
                    return Err(RequestError::Closed);
                };
                let cut_from = sent.as_u64().and_then(|sent| usize::try_from(sent).ok());
                let text = text.clone();
                Ok(Self { cut_from, text })
            }
            Value::Object(mut fields) => {
                if let Some(failure) = fields.remove("failed") {
                    let failure = serde_json::from_value(failure);
                    return Err(failure.map_or(RequestError::Closed, RequestError::Failed));
                }
                let why = fields.get("unreadable").and_then(Value::as_str);
                Err(why.map_or(RequestError::Closed, |why| {
                    RequestError::Unreadable(why.to_owned())
                }))
            }
            Value::Bool(_) | Value::Null | Value::Number(_) => Err(RequestError::Closed),
        }
    }
}

/// Extracts the answer from the result that `rmcp` carried.
pub(crate) fn into_answer(
    result: Result<ServerResult, ServiceError>,
) -> Result<RpcAnswer, RequestError> {
    match result {
        Ok(ServerResult::CustomResult(custom)) => RpcAnswer::from_carried(custom.0),
        Ok(_) | Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
            Err(RequestError::Closed)
        }
        Err(ServiceError::McpError(error)) => Err(RequestError::Refused(Box::new(error))),
        Err(ServiceError::Timeout { .. }) => Err(RequestError::Late),
        Err(_) => Err(RequestError::Closed),
    }
}
