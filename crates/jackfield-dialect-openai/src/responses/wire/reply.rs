//! A whole reply.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::item::Item;

/// A whole reply in the form that a server sends; in a stream also the state so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Response {
    pub id: String,
    /// Always `response`.
    pub object: String,
    /// When it was created, in seconds since 1970.
    pub created_at: u64,
    /// `completed`, `failed`, `in_progress`, `cancelled`, `queued` or `incomplete`.
    pub status: String,
    pub model: String,
    pub output: Vec<Item>,
    /// The error of a failed reply.
    pub error: Option<ResponseError>,
    pub incomplete_details: Option<IncompleteDetails>,
    pub usage: Option<Usage>,
    /// The fields that repeat the request: `instructions`, `tools`, `store` and more.
    #[serde(flatten)]
    pub repeated: Map<String, Value>,
}

/// The error of a failed reply.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ResponseError {
    #[serde(default)]
    pub code: String,
    #[serde(default)]
    pub message: String,
}

/// Why a reply is incomplete.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct IncompleteDetails {
    /// `max_output_tokens`, `content_filter`, or another reason.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The usage of a reply. Cached input is part of the input, reasoning of the output.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub input_tokens_details: Option<InputTokensDetails>,
    pub output_tokens: Option<u64>,
    pub output_tokens_details: Option<OutputTokensDetails>,
    pub total_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct InputTokensDetails {
    /// Tokens written to the cache.
    pub cache_write_tokens: Option<u64>,
    /// Tokens read from the cache.
    pub cached_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct OutputTokensDetails {
    pub reasoning_tokens: Option<u64>,
}

/// A reply as read: every field is optional.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct IncomingResponse {
    #[serde(default)]
    pub(crate) error: Option<Value>,
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) incomplete_details: Option<IncompleteDetails>,
    #[serde(default)]
    pub(crate) input_transformations: Option<Vec<Value>>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) output: Option<Vec<Map<String, Value>>>,
    #[serde(default)]
    pub(crate) status: Option<String>,
    #[serde(default)]
    pub(crate) service_tier: Option<Value>,
    #[serde(default)]
    pub(crate) usage: Option<Value>,
}
