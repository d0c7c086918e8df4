//! A whole reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::block::Block;

/// A whole reply, or the start of a streamed one.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Message {
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// Always `message`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Always `assistant`.
    #[serde(default)]
    pub role: String,
    /// The model that answered.
    #[serde(default)]
    pub model: String,
    /// The blocks.
    #[serde(default)]
    pub content: Vec<Block>,
    /// The stop reason.
    #[serde(default)]
    pub stop_reason: Option<String>,
    /// The stop sequence that ended it.
    #[serde(default)]
    pub stop_sequence: Option<String>,
    /// Details of the stop reason: of a refusal, its category and explanation.
    #[serde(default)]
    pub stop_details: Option<Value>,
    /// The usage.
    #[serde(default)]
    pub usage: Option<Usage>,
}

/// The usage of a reply. In a stream the values are cumulative, and an absent one is unchanged.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Usage {
    /// Input tokens, without those written to or read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Input tokens written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation_input_tokens: Option<u64>,
    /// Input tokens read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_input_tokens: Option<u64>,
    /// Output tokens, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Details of the output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_details: Option<OutputTokensDetails>,
}

/// Details of the output tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct OutputTokensDetails {
    /// Reasoning tokens.
    #[serde(default)]
    pub thinking_tokens: u64,
}
