//! Items: what the conversation and replies are made of.

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// An item of a conversation or of a reply.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Item {
    /// A call of a tool that takes text.
    CustomToolCall(CustomCall),
    /// Its result.
    CustomToolCallOutput(Output),
    /// A call of a tool that takes JSON.
    FunctionCall(Call),
    /// Its result.
    FunctionCallOutput(Output),
    /// A message.
    Message(Message),
    /// Reasoning.
    Reasoning(Reasoning),
    /// A message that does not say that it is one; clients may leave that out.
    #[serde(untagged)]
    Easy(Message),
    /// An item of another type, as it is; also one of these types that is not well-formed.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// A message.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// What it says.
    pub content: Content,
    /// Every other field: of an assistant's `id`, `status` and `phase`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The model.
    Assistant,
    /// Whoever runs the conversation.
    Developer,
    /// The same, to models that do not reason.
    System,
    /// The user.
    User,
}

/// What a message says: a text, which stands for one part, or parts.
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

/// A part of a message, or of what came of a call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Part {
    /// A document.
    InputFile {
        /// How closely to look.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// The bytes, as a data URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
        /// Its id, where it was uploaded before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        /// Its address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_url: Option<String>,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Up to where to cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// A picture.
    InputImage {
        /// How closely to look.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Its id, where it was uploaded before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        /// Its address, or the bytes as a data URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image_url: Option<String>,
        /// Up to where to cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// Words to the model.
    InputText {
        /// The words.
        text: String,
        /// Up to where to cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    /// Words of the model.
    OutputText {
        /// The words.
        text: String,
        /// Remarks on them, each as the vendor wrote it.
        #[serde(default)]
        annotations: Vec<Value>,
    },
    /// The model's words for why it will not.
    Refusal {
        /// The words.
        refusal: String,
    },
    /// A part of another type, as it is.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// Up to where to cache.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct CacheBreakpoint {
    /// Always `explicit`.
    pub mode: String,
    /// `30m` or `12h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

/// A call of a tool that takes JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Call {
    /// The arguments as JSON text; some clients send the JSON itself.
    #[serde(default)]
    pub arguments: Value,
    /// What its output names it by.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Every other field: `id`, `status`, `namespace`, `caller`, `async`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A call of a tool that takes text.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CustomCall {
    /// What its output names it by.
    pub call_id: String,
    /// The text.
    #[serde(default)]
    pub input: String,
    /// The tool.
    pub name: String,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What came of a call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Output {
    /// The call.
    pub call_id: String,
    /// What it is.
    pub output: OutputContent,
    /// Every other field: `id`, `status`, `caller`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What came of a call: a text, or parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OutputContent {
    /// A text.
    Text(String),
    /// Parts.
    Parts(Vec<Part>),
}

impl<'de> Deserialize<'de> for OutputContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_list(
            deserializer,
            "a text or a list of parts",
            Self::Text,
            Self::Parts,
        )
    }
}

/// Reasoning, as its owner wrote it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Reasoning {
    /// Its fields, `type` aside: `id`, `summary`, `content`, `encrypted_content`, `status`.
    pub fields: Map<String, Value>,
}

jackfield_dialect_kit::objects!(CacheBreakpoint, Item, Part,);
