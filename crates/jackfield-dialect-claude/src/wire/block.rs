//! Content blocks of requests and replies.

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The content of a message: a string, which stands for one text block, or blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// A string.
    Text(String),
    /// Blocks.
    Blocks(Vec<Block>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_list(
            deserializer,
            "a text or a list of blocks",
            Self::Text,
            Self::Blocks,
        )
    }
}

/// A content block.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Block {
    /// A document.
    Document {
        /// The source of its bytes.
        source: Source,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Background information for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// Whether to cite it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        citations: Option<Citations>,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// An image.
    Image {
        /// The source of its bytes.
        source: Source,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// Redacted reasoning.
    RedactedThinking {
        /// Its encrypted contents.
        data: String,
    },
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Citations in the vendor's form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        citations: Option<Vec<Value>>,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// Reasoning.
    Thinking {
        /// Its text, often empty.
        #[serde(default)]
        thinking: String,
        /// The signature that proves its origin.
        #[serde(default)]
        signature: String,
    },
    /// The outcome of a call.
    ToolResult(ToolResult),
    /// A call.
    ToolUse(ToolUse),
    /// A block of another type, unchanged; also a malformed one of these types.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolUse {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; an object, but some servers omit it.
    #[serde(default)]
    pub input: Value,
    /// The caller: the model, or code that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Value>,
    /// The toolset of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolset_name: Option<String>,
    /// The end of a cached prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

/// The outcome of a call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolResult {
    /// The id of the call.
    pub tool_use_id: String,
    /// The content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Whether it is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The toolset of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolset_name: Option<String>,
    /// The end of a cached prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

/// The source of an image's or document's bytes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Source {
    /// Inline data.
    Base64 {
        /// The media type.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// A file that was uploaded before.
    File {
        /// Its id.
        file_id: String,
    },
    /// Inline text.
    Text {
        /// Always `text/plain`.
        media_type: String,
        /// The text.
        data: String,
    },
    /// A URL.
    Url {
        /// The URL.
        url: String,
    },
    /// Another source, unchanged.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// Whether to cite a document.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Citations {
    /// The switch.
    #[serde(default)]
    pub enabled: bool,
}

/// The end of a cached prefix.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct CacheControl {
    /// Always `ephemeral`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `5m` or `1h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

jackfield_dialect_kit::objects!(Block, CacheControl, Citations, Source, ToolResult, ToolUse,);
