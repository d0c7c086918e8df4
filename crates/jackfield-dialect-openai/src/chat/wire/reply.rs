//! Replies, whole and in pieces, as they are served; what is read is less orderly, see the decoder.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool::ToolCall;

/// A whole reply.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Completion {
    /// The vendor's id of it.
    pub id: String,
    /// Always `chat.completion`.
    pub object: String,
    /// When it began, in seconds since 1970.
    pub created: u64,
    /// The model.
    pub model: String,
    /// The answers; here always one.
    pub choices: Vec<Choice>,
    /// What was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// One answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Choice {
    /// Which.
    pub index: u32,
    /// What it says.
    pub message: ReplyMessage,
    /// How likely each token was; never known here.
    #[serde(default)]
    pub logprobs: Option<Value>,
    /// Why it ended.
    pub finish_reason: String,
}

/// What the model answered.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReplyMessage {
    /// Always `assistant`.
    pub role: String,
    /// Its words.
    pub content: Option<String>,
    /// Its words for why it will not.
    pub refusal: Option<String>,
    /// Its reasoning, in the field that most servers have for it; the vendor shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Its reasoning in parts, with proofs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Value>,
    /// Where the words come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<Value>>,
    /// What it said aloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<Value>,
    /// Its calls; never an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// What Jackfield did meanwhile; no vendor's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jackfield: Option<Meanwhile>,
}

/// A piece of a reply.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Chunk {
    /// The vendor's id of the reply: the same in all pieces.
    pub id: String,
    /// Always `chat.completion.chunk`.
    pub object: String,
    /// When the reply began, in seconds since 1970.
    pub created: u64,
    /// The model.
    pub model: String,
    /// Pieces of the answers; none in a piece that only says what was used.
    pub choices: Vec<ChoiceDelta>,
    /// What was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A piece of one answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ChoiceDelta {
    /// Which.
    pub index: u32,
    /// The piece.
    pub delta: Delta,
    /// How likely each token was; never known here.
    #[serde(default)]
    pub logprobs: Option<Value>,
    /// Why the answer ended, in its last piece.
    #[serde(default)]
    pub finish_reason: Option<String>,
}

/// What is new.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Delta {
    /// Always `assistant`, in the first piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// More words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// More words for why it will not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// More reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// More reasoning in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Value>,
    /// Where the words come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<Value>>,
    /// What is said aloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<Value>,
    /// Pieces of calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Pieces of what Jackfield did meanwhile; no vendor's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jackfield: Option<Meanwhile>,
}

/// What Jackfield did while the answer came about: `jackfield` in a message and in a delta.
///
/// Clients that add deltas up, as the vendor's SDKs do, get the list of a whole message, with the index
/// in each element.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Meanwhile {
    /// The tools that it ran; never an empty list.
    pub tool_calls: Vec<ServerCall>,
}

/// A tool that Jackfield ran. In a stream it comes in two pieces under one index: the call, and what
/// came of it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ServerCall {
    /// With pieces of a stream: which of these calls. They are not counted with the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The MCP server, or other source of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, by its own name there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments: a text that is JSON, or the free text that the tool takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// What came of it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether that is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// What a reply used.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub prompt_tokens: u64,
    /// All output tokens, reasoning included.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<PromptTokensDetails>,
    /// Of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens_details: Option<CompletionTokensDetails>,
}

/// Of the input.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct PromptTokensDetails {
    /// Read from a cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Written to a cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

/// Of the output.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct CompletionTokensDetails {
    /// Reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
}
