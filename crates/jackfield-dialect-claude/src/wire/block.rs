//! Content blocks, of requests and of replies.

use jackfield_dialect_kit::form::text_or_list;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// What a message says: a text, which stands for one text block, or blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// A text.
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
        /// Where it is.
        source: Source,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What the model is told about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// Whether it is to be cited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        citations: Option<Citations>,
        /// Up to where to cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A picture.
    Image {
        /// Where it is.
        source: Source,
        /// Up to where to cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// Reasoning that the vendor hides.
    RedactedThinking {
        /// All there is of it.
        data: String,
    },
    /// Words.
    Text {
        /// The words.
        text: String,
        /// Citations, each as the vendor wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        citations: Option<Vec<Value>>,
        /// Up to where to cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// Reasoning.
    Thinking {
        /// Its text, often empty.
        #[serde(default)]
        thinking: String,
        /// What proves whose it is.
        #[serde(default)]
        signature: String,
    },
    /// What came of a call.
    ToolResult(ToolResult),
    /// A call.
    ToolUse(ToolUse),
    /// A block of another type, as it is; also one of these types that is not well-formed.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolUse {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments; an object, but some servers leave it out.
    #[serde(default)]
    pub input: Value,
    /// Who called: the model, or code of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Value>,
    /// The set that the tool is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolset_name: Option<String>,
    /// Up to where to cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

/// What came of a call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct ToolResult {
    /// The call.
    pub tool_use_id: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Whether it is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The set that the tool is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolset_name: Option<String>,
    /// Up to where to cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

/// Where the bytes of a picture or document are.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(remote = "Self", rename_all = "snake_case", tag = "type")]
pub enum Source {
    /// Here.
    Base64 {
        /// The media type.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// Uploaded before.
    File {
        /// Its id.
        file_id: String,
    },
    /// Here, as text.
    Text {
        /// Always `text/plain`.
        media_type: String,
        /// The text.
        data: String,
    },
    /// At an address.
    Url {
        /// The address.
        url: String,
    },
    /// Some other source, as it is.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// Whether a document is to be cited.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(remote = "Self")]
pub struct Citations {
    /// Whether.
    #[serde(default)]
    pub enabled: bool,
}

/// Up to where to cache.
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
