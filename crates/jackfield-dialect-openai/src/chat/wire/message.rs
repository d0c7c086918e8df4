//! The messages of a conversation.

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::tool::{FunctionCall, ToolCall};

/// A message. Which fields it has depends on its role.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Message {
    pub role: Role,
    /// The content; null only beside calls.
    #[serde(default)]
    pub content: Option<Content>,
    /// The name of the author, among several with one role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model's explanation of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The model's reasoning: DeepSeek, llama.cpp, vLLM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// The model's reasoning: Ollama, OpenRouter, newer vLLM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The model's reasoning: a few proxies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The model's reasoning in parts with signatures: OpenRouter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Vec<Value>>,
    /// Earlier audio output of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioRef>,
    /// The model's calls; never an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The legacy form of a single call; only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function_call: Option<FunctionCall>,
    /// With role `tool`: the id of the call that this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// In the last message: the reply continues it (Mistral, and DeepSeek at `/beta`); only written.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<bool>,
}

impl Message {
    /// A message without content.
    #[must_use]
    pub const fn new(role: Role) -> Self {
        Self {
            role,
            content: None,
            name: None,
            refusal: None,
            reasoning_content: None,
            reasoning: None,
            thinking: None,
            reasoning_details: None,
            audio: None,
            tool_calls: None,
            function_call: None,
            tool_call_id: None,
            prefix: None,
        }
    }
}

/// The author of a message.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Assistant,
    /// The operator's instructions to a reasoning model.
    Developer,
    /// The legacy form of a tool's result; only read.
    Function,
    System,
    Tool,
    User,
}

/// The content of a message: a string, or parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_list(
            deserializer,
            "a text or a list of parts",
            Self::Text,
            Self::Parts,
        )
    }
}

/// A part of a message's content.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Part {
    File {
        file: File,
        /// The end of a cached prefix.
        #[serde(
            default,
            alias = "cache_control",
            skip_serializing_if = "Option::is_none"
        )]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    ImageUrl {
        image_url: ImageUrl,
        /// The end of a cached prefix.
        #[serde(
            default,
            alias = "cache_control",
            skip_serializing_if = "Option::is_none"
        )]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    InputAudio {
        input_audio: Audio,
        /// The end of a cached prefix.
        #[serde(
            default,
            alias = "cache_control",
            skip_serializing_if = "Option::is_none"
        )]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// The model's explanation of a refusal.
    Refusal { refusal: String },
    Text {
        text: String,
        /// The end of a cached prefix.
        #[serde(
            default,
            alias = "cache_control",
            skip_serializing_if = "Option::is_none"
        )]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// Any other part, unchanged.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct File {
    /// The bytes, as a `data:` URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_data: Option<String>,
    /// The id of a file that was uploaded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ImageUrl {
    /// The URL, possibly a `data:` URL.
    pub url: String,
    /// `auto`, `low`, `high` or `original`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Audio {
    /// The bytes in base64.
    pub data: String,
    /// `wav` or `mp3`.
    pub format: String,
}

/// A reference to earlier audio output of the model.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct AudioRef {
    /// The vendor's id of the audio.
    pub id: String,
}

/// The end of a prefix of the request that is to be cached.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct CacheBreakpoint {
    /// Always `explicit`; clients of other servers send `cache_control`, which has no mode.
    #[serde(default)]
    pub mode: String,
    /// `30m` or `12h`; in `cache_control`, `5m` or `1h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

jackfield_dialect_kit::objects!(
    Audio,
    AudioRef,
    CacheBreakpoint,
    File,
    ImageUrl,
    Message,
    Part,
);
