//! Content blocks of requests and replies.

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The content of a message: a string, which stands for one text block, or blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
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

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Block {
    Document {
        /// The source of its bytes.
        source: Source,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Background information for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        citations: Option<Citations>,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        /// The source of its bytes.
        source: Source,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    RedactedThinking {
        data: String,
    },
    Text {
        text: String,
        /// Citations in the vendor's form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        citations: Option<Vec<Value>>,
        /// The end of a cached prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
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
    ToolUse(ToolUse),
    /// A block of another type, unchanged; also a malformed one of these types.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolUse {
    pub id: String,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
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
    Base64 {
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// A file that was uploaded before.
    File {
        file_id: String,
    },
    Text {
        /// Always `text/plain`.
        media_type: String,
        data: String,
    },
    Url {
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
