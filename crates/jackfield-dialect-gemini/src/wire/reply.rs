//! A reply, and a fragment of one in a stream: both have one form.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::ErrorDetail;
use super::part::Content;

/// A reply, or a fragment of one.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct Reply {
    /// The candidates; Jackfield asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<Candidate>>,
    /// The judgement on a blocked prompt, in the first fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_feedback: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_metadata: Option<UsageMetadata>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_version: Option<String>,
    /// The id of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// An error in place of the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDetail>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// What the model says; missing if it was blocked, or spent all tokens on thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Why it ended, in the last fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Every other field: sources, ratings.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct UsageMetadata {
    /// Input tokens, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_token_count: Option<u64>,
    /// Input tokens that were read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_content_token_count: Option<u64>,
    /// Output tokens without thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates_token_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts_token_count: Option<u64>,
    /// Input tokens of results of the vendor's own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_prompt_token_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_token_count: Option<u64>,
    /// The input by modality, cached input included; read alone, as the fields below.
    #[serde(default, skip_serializing)]
    pub prompt_tokens_details: Option<Value>,
    /// The cached input by modality.
    #[serde(default, skip_serializing)]
    pub cache_tokens_details: Option<Value>,
    /// The output by modality.
    #[serde(default, skip_serializing)]
    pub candidates_tokens_details: Option<Value>,
    /// The tier that served it (Gemini API).
    #[serde(default, skip_serializing)]
    pub service_tier: Option<Value>,
    /// How it was served (Vertex AI).
    #[serde(default, skip_serializing)]
    pub traffic_type: Option<Value>,
}

jackfield_dialect_kit::objects!(Reply, UsageMetadata);
