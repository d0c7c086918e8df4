//! The events of a streamed reply.
//!
//! Events are written from [`Event`]. They are read into one flat type with the fields of all events, because that
//! takes one pass over the text; a tagged enum would be buffered and read twice.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::Block;
use super::error::ErrorDetail;
use super::reply::{Message, Usage};

/// An event in the form that a server sends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Event {
    /// A fragment of a block.
    ContentBlockDelta {
        index: u32,
        delta: BlockDelta,
    },
    ContentBlockStart {
        index: u32,
        /// The block without its content, unless the block comes whole.
        content_block: Block,
    },
    /// The end of a block.
    ContentBlockStop {
        index: u32,
    },
    /// A failure of the reply.
    Error {
        error: ErrorDetail,
        request_id: Option<String>,
    },
    /// The end of the reply, with its usage.
    MessageDelta {
        delta: MessageDelta,
        usage: Usage,
    },
    /// The start of a reply.
    MessageStart {
        /// The reply, without blocks.
        message: Message,
    },
    /// The end of a complete reply.
    MessageStop {},
    Ping {},
}

/// A fragment of a block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum BlockDelta {
    CitationsDelta {
        citation: Value,
    },
    /// A fragment of the arguments.
    InputJsonDelta {
        partial_json: String,
    },
    SignatureDelta {
        signature: String,
    },
    /// A fragment of the text.
    TextDelta {
        text: String,
    },
    /// A fragment of the reasoning.
    ThinkingDelta {
        thinking: String,
    },
}

/// The stop reason of a reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageDelta {
    pub stop_reason: Option<String>,
    /// The stop sequence that ended it.
    pub stop_sequence: Option<String>,
    /// Details of the stop reason.
    pub stop_details: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct IncomingEvent<'a> {
    #[serde(borrow, default, deserialize_with = "text", rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(default)]
    pub(crate) index: Option<u32>,
    #[serde(borrow, default)]
    pub(crate) delta: Option<IncomingDelta<'a>>,
    #[serde(default)]
    pub(crate) content_block: Option<Map<String, Value>>,
    #[serde(default)]
    pub(crate) message: Option<IncomingMessage>,
    #[serde(default)]
    pub(crate) usage: Option<Usage>,
    #[serde(default)]
    pub(crate) error: Option<ErrorDetail>,
}

/// The start of a reply; blocks in it are ignored.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct IncomingMessage {
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) usage: Option<Usage>,
}

/// A fragment of a block, or the end of a reply.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct IncomingDelta<'a> {
    #[serde(borrow, default, deserialize_with = "text", rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(crate) text: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(crate) partial_json: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(crate) thinking: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(crate) signature: Cow<'a, str>,
    #[serde(default)]
    pub(crate) citation: Option<Value>,
    #[serde(default)]
    pub(crate) stop_reason: Option<String>,
    #[serde(default)]
    pub(crate) stop_sequence: Option<String>,
    #[serde(default)]
    pub(crate) stop_details: Option<Value>,
}

/// Only the types of an event and of its delta, in any form.
#[derive(Debug, Deserialize)]
pub(crate) struct Kind {
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) index: Option<Value>,
    #[serde(default)]
    pub(crate) delta: Option<Value>,
}

/// A string, borrowed if possible; a missing value and `null` are empty, as some servers send all their fields.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    deserializer.deserialize_option(Text)
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or null")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(text.into())
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok("".into())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.to_owned().into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(text.into())
    }
}
