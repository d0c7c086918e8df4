//! A whole reply.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::item::Item;

/// A whole reply, as a server writes it; in a stream also what is known of one so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Response {
    /// Its id.
    pub id: String,
    /// Always `response`.
    pub object: String,
    /// When it was made, in seconds since 1970.
    pub created_at: u64,
    /// `completed`, `failed`, `in_progress`, `cancelled`, `queued` or `incomplete`.
    pub status: String,
    /// The model that answered.
    pub model: String,
    /// The items.
    pub output: Vec<Item>,
    /// Why it failed.
    pub error: Option<ResponseError>,
    /// Why it is incomplete.
    pub incomplete_details: Option<IncompleteDetails>,
    /// What it used.
    pub usage: Option<Usage>,
    /// What it repeats of its request: `instructions`, `tools`, `store` and more.
    #[serde(flatten)]
    pub repeated: Map<String, Value>,
}

/// Why a reply failed.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ResponseError {
    /// Its kind, in the vendor's words.
    #[serde(default)]
    pub code: String,
    /// For a person.
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

/// What a reply used. Cached input is part of the input, reasoning of the output.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Usage {
    /// All input tokens.
    pub input_tokens: Option<u64>,
    /// What they were.
    pub input_tokens_details: Option<InputTokensDetails>,
    /// All output tokens.
    pub output_tokens: Option<u64>,
    /// What they were.
    pub output_tokens_details: Option<OutputTokensDetails>,
    /// Both together.
    pub total_tokens: Option<u64>,
}

/// What the input tokens were.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct InputTokensDetails {
    /// Written to the cache.
    pub cache_write_tokens: Option<u64>,
    /// Read from the cache.
    pub cached_tokens: Option<u64>,
}

/// What the output tokens were.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct OutputTokensDetails {
    /// Reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// A reply, as a client reads it: nothing has to be there.
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
    pub(crate) usage: Option<Usage>,
}
