//! The body of an error.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of an error, and of an `error` event.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ErrorBody {
    /// Always `error`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// The error.
    pub error: ErrorDetail,
    /// The id of the request.
    #[serde(default)]
    pub request_id: Option<String>,
}

/// An error.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ErrorDetail {
    /// What kind of error it is.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// For people; never to be matched on.
    #[serde(default)]
    pub message: String,
    /// For machines; `error_code` names the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// llama.cpp: how many tokens the request has.
    #[serde(default, skip_serializing)]
    pub n_prompt_tokens: Option<u64>,
    /// llama.cpp: how many tokens fit.
    #[serde(default, skip_serializing)]
    pub n_ctx: Option<u64>,
}
