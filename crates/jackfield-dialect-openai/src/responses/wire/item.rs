//! Items, of which the conversation and replies consist.

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// An item of a conversation or of a reply.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Item {
    /// A call of a text tool.
    CustomToolCall(CustomCall),
    /// The outcome of a text tool's call.
    CustomToolCallOutput(Output),
    /// A call with JSON arguments.
    FunctionCall(Call),
    /// The outcome of such a call.
    FunctionCallOutput(Output),
    Message(Message),
    Reasoning(Reasoning),
    /// A message without a type, which clients may omit.
    #[serde(untagged)]
    Easy(Message),
    /// An item of another type, unchanged; also a malformed one of these types.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Message {
    pub role: Role,
    pub content: Content,
    /// All other fields; an assistant's are `id`, `status` and `phase`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Assistant,
    Developer,
    /// The operator's instructions to a model without reasoning.
    System,
    User,
}

/// The content of a message: a string, which stands for one part, or parts.
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

/// A part of a message or an output.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Part {
    InputFile {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// The bytes, as a data URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
        /// The id of a file that was uploaded before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_url: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    InputImage {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// The id of a file that was uploaded before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        /// Its URL, possibly a `data:` URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image_url: Option<String>,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    InputText {
        text: String,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<CacheBreakpoint>,
    },
    OutputText {
        text: String,
        /// Annotations on the text in the vendor's form.
        #[serde(default)]
        annotations: Vec<Value>,
    },
    /// The model's explanation of a refusal.
    Refusal { refusal: String },
    /// A part of another type, unchanged.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// The end of a cached prefix.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct CacheBreakpoint {
    /// Always `explicit`.
    pub mode: String,
    /// `30m` or `12h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

/// A call with JSON arguments.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Call {
    /// The arguments as JSON text; some clients send the JSON itself.
    #[serde(default)]
    pub arguments: Value,
    /// The id by which the output refers to the call.
    pub call_id: String,
    pub name: String,
    /// All other fields: `id`, `status`, `namespace`, `caller`, `async`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A call of a text tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CustomCall {
    /// The id by which the output refers to the call.
    pub call_id: String,
    #[serde(default)]
    pub input: String,
    pub name: String,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The outcome of a call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Output {
    pub call_id: String,
    pub output: OutputContent,
    /// All other fields: `id`, `status`, `caller`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The outcome of a call: a string, or parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OutputContent {
    Text(String),
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

/// Reasoning in its owner's form.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Reasoning {
    /// Its fields without `type`: `id`, `summary`, `content`, `encrypted_content`, `status`.
    pub fields: Map<String, Value>,
}

jackfield_dialect_kit::objects!(CacheBreakpoint, Item, Part,);
