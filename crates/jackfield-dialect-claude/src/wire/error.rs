//! The body of an error.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of an error, and of an `error` event.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ErrorBody {
    /// Always `error`.
    #[serde(default, rename = "type")]
    pub kind: String,
    pub error: ErrorDetail,
    #[serde(default)]
    pub request_id: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ErrorDetail {
    /// The type of the error.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// A message for people; never match on it.
    #[serde(default)]
    pub message: String,
    /// Details for programs; `error_code` names the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// llama.cpp: the size of the request in tokens.
    #[serde(default, skip_serializing)]
    pub n_prompt_tokens: Option<u64>,
    /// llama.cpp: the limit in tokens.
    #[serde(default, skip_serializing)]
    pub n_ctx: Option<u64>,
}
