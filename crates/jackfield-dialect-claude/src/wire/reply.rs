//! A whole reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::block::Block;

/// A whole reply, or the start of a streamed one.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Message {
    #[serde(default)]
    pub id: String,
    /// Always `message`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Always `assistant`.
    #[serde(default)]
    pub role: String,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub content: Vec<Block>,
    #[serde(default)]
    pub stop_reason: Option<String>,
    /// The stop sequence that ended it.
    #[serde(default)]
    pub stop_sequence: Option<String>,
    /// Details of the stop reason: of a refusal, its category and explanation.
    #[serde(default)]
    pub stop_details: Option<Value>,
    #[serde(default)]
    pub usage: Option<Usage>,
}

/// The usage of a reply. In a stream the values are cumulative, and an absent one is unchanged.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_details: Option<OutputTokensDetails>,
    /// The tokens written to the cache by the time that they are kept; read alone.
    #[serde(default, skip_serializing)]
    pub cache_creation: Option<Value>,
    /// `standard`, `priority` or `batch`; read alone.
    #[serde(default, skip_serializing)]
    pub service_tier: Option<Value>,
    /// `standard` or `fast`; read alone.
    #[serde(default, skip_serializing)]
    pub speed: Option<Value>,
}

impl Usage {
    /// Takes what a later report of the stream says; a count of 0 is as an absent one, as counts do not shrink.
    pub(crate) fn update(&mut self, later: &Self) {
        let count = |later: Option<u64>, known| later.filter(|count| *count > 0).or(known);
        let json = |later: &Option<Value>, known: Option<Value>| later.clone().or(known);
        *self = Self {
            input_tokens: count(later.input_tokens, self.input_tokens),
            cache_creation_input_tokens: count(
                later.cache_creation_input_tokens,
                self.cache_creation_input_tokens,
            ),
            cache_read_input_tokens: count(
                later.cache_read_input_tokens,
                self.cache_read_input_tokens,
            ),
            output_tokens: count(later.output_tokens, self.output_tokens),
            output_tokens_details: later.output_tokens_details.or(self.output_tokens_details),
            cache_creation: json(&later.cache_creation, self.cache_creation.take()),
            service_tier: json(&later.service_tier, self.service_tier.take()),
            speed: json(&later.speed, self.speed.take()),
        };
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct OutputTokensDetails {
    #[serde(default)]
    pub thinking_tokens: u64,
}
