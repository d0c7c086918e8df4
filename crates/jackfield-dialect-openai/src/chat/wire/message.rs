//! The messages of a conversation.

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::tool::{FunctionCall, ToolCall};

/// A message. Which fields it has depends on its role.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// What it says; null only beside calls.
    #[serde(default)]
    pub content: Option<Content>,
    /// Whose among several of one role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model's own words for why it would not.
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
    /// The model's reasoning in parts, with proofs: OpenRouter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Vec<Value>>,
    /// What the model said aloud before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioRef>,
    /// The model's calls; never an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The model's one call, before there were several; read only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function_call: Option<FunctionCall>,
    /// With role `tool`: the call that this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// A message that says nothing yet.
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
        }
    }
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The model.
    Assistant,
    /// Whoever runs the conversation, to a model that reasons.
    Developer,
    /// A function, before there were tools; read only.
    Function,
    /// Whoever runs the conversation.
    System,
    /// A tool.
    Tool,
    /// The user.
    User,
}

/// What a message says: a text, or parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// A text.
    Text(String),
    /// Parts.
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

/// A part of what a message says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Part {
    /// A document.
    File {
        /// Which.
        file: File,
        /// Cache up to here.
        #[serde(
            default,
            alias = "cache_control",
            skip_serializing_if = "Option::is_none"
        )]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// A picture.
    ImageUrl {
        /// Which.
        image_url: ImageUrl,
        /// Cache up to here.
        #[serde(
            default,
            alias = "cache_control",
            skip_serializing_if = "Option::is_none"
        )]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// A sound.
    InputAudio {
        /// Which.
        input_audio: Audio,
        /// Cache up to here.
        #[serde(
            default,
            alias = "cache_control",
            skip_serializing_if = "Option::is_none"
        )]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// The model's own words for why it would not.
    Refusal {
        /// The words.
        refusal: String,
    },
    /// Words.
    Text {
        /// The words.
        text: String,
        /// Cache up to here.
        #[serde(
            default,
            alias = "cache_control",
            skip_serializing_if = "Option::is_none"
        )]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// Any other part, as it came.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// A document.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct File {
    /// The bytes, as a `data:` URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_data: Option<String>,
    /// The vendor's id of it, if it was uploaded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// A picture.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ImageUrl {
    /// Its address, or a `data:` URL.
    pub url: String,
    /// `auto`, `low`, `high` or `original`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A sound.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Audio {
    /// The bytes in base64.
    pub data: String,
    /// `wav` or `mp3`.
    pub format: String,
}

/// Something that the model said aloud.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct AudioRef {
    /// The vendor's id of it.
    pub id: String,
}

/// A point up to which the request is to be cached.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct CacheBreakpoint {
    /// Always `explicit`; clients of other servers say `cache_control`, which has none.
    #[serde(default)]
    pub mode: String,
    /// `30m` or `12h`; of `cache_control`, `5m` or `1h`.
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
