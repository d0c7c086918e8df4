//! Replies, whole and as chunks, in the form that we serve; the decoder accepts less regular forms.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool::ToolCall;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Completion {
    /// The vendor's id of the reply.
    pub id: String,
    /// Always `chat.completion`.
    pub object: String,
    /// When the reply began, in seconds since 1970.
    pub created: u64,
    pub model: String,
    /// The choices; always one here.
    pub choices: Vec<Choice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Choice {
    pub index: u32,
    pub message: ReplyMessage,
    /// Log probabilities of the tokens; never set here.
    #[serde(default)]
    pub logprobs: Option<Value>,
    pub finish_reason: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReplyMessage {
    /// Always `assistant`.
    pub role: String,
    pub content: Option<String>,
    /// Its explanation of a refusal.
    pub refusal: Option<String>,
    /// Its reasoning, in the field that most servers use; the vendor sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Its reasoning in parts with signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Value>,
    /// The sources of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<Value>,
    /// Its calls; never an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Server tool calls; our own extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jackfield: Option<ServerCalls>,
}

/// A chunk of a streamed reply.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Chunk {
    /// The vendor's id of the reply, equal in all chunks.
    pub id: String,
    /// Always `chat.completion.chunk`.
    pub object: String,
    /// When the reply began, in seconds since 1970.
    pub created: u64,
    pub model: String,
    /// Deltas of the choices; empty in a chunk that holds only usage.
    pub choices: Vec<ChoiceDelta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ChoiceDelta {
    pub index: u32,
    pub delta: Delta,
    /// Log probabilities of the tokens; never set here.
    #[serde(default)]
    pub logprobs: Option<Value>,
    /// The finish reason, in the last chunk of the choice.
    #[serde(default)]
    pub finish_reason: Option<String>,
}

/// New parts of a message.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Delta {
    /// Always `assistant`, in the first piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// More explanation of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Value>,
    /// The sources of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Fragments of server tool calls; our own extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jackfield: Option<ServerCalls>,
}

/// The server tool calls of a reply: `jackfield` in a message and in a delta.
///
/// Clients that accumulate deltas, as the vendor's SDKs do, arrive at the list of a whole message, with the index
/// in each element.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ServerCalls {
    /// The calls; never an empty list.
    pub tool_calls: Vec<ServerCall>,
}

/// A server tool call. In a stream it comes in two fragments with one index: the call, and its outcome.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ServerCall {
    /// In a stream: the index among server tool calls. The client's calls are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The MCP server or other toolbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, by its own name in the toolbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments: JSON text, or the free text of a text tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether the outcome is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// The usage of a reply.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub prompt_tokens: u64,
    /// All output tokens, reasoning included.
    pub completion_tokens: u64,
    pub total_tokens: u64,
    /// Details of the input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<PromptTokensDetails>,
    /// Details of the output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens_details: Option<CompletionTokensDetails>,
}

/// Details of the input tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct PromptTokensDetails {
    /// Tokens read from a cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens written to a cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

/// Details of the output tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct CompletionTokensDetails {
    #[serde(default)]
    pub reasoning_tokens: u64,
}
