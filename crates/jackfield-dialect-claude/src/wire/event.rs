//! The events of a streamed reply.
//!
//! Written from [`Event`]. Read into one flat form with every field that some event has, because that
//! takes one pass over the text; a tagged form is put aside first and read a second time.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::Block;
use super::error::ErrorDetail;
use super::reply::{Message, Usage};

/// An event, as a server writes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Event {
    /// More of a block.
    ContentBlockDelta {
        /// The block.
        index: u32,
        /// The piece.
        delta: BlockDelta,
    },
    /// A block begins.
    ContentBlockStart {
        /// Its number.
        index: u32,
        /// What it is; its content follows, unless it comes whole.
        content_block: Block,
    },
    /// A block ends.
    ContentBlockStop {
        /// The block.
        index: u32,
    },
    /// The reply failed.
    Error {
        /// The error.
        error: ErrorDetail,
        /// The id of the request.
        request_id: Option<String>,
    },
    /// Why the reply ends, and what it used.
    MessageDelta {
        /// Why.
        delta: MessageDelta,
        /// What it used, cumulative.
        usage: Usage,
    },
    /// A reply begins.
    MessageStart {
        /// The reply, without blocks.
        message: Message,
    },
    /// The reply was whole.
    MessageStop {},
    /// The connection lives.
    Ping {},
}

/// A piece of a block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum BlockDelta {
    /// One more citation.
    CitationsDelta {
        /// The citation.
        citation: Value,
    },
    /// More of the arguments.
    InputJsonDelta {
        /// The piece of JSON text.
        partial_json: String,
    },
    /// The signature, whole.
    SignatureDelta {
        /// The signature.
        signature: String,
    },
    /// More words.
    TextDelta {
        /// The words.
        text: String,
    },
    /// More reasoning.
    ThinkingDelta {
        /// Its text.
        thinking: String,
    },
}

/// Why a reply ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageDelta {
    /// Why.
    pub stop_reason: Option<String>,
    /// The stop sequence that ended it.
    pub stop_sequence: Option<String>,
    /// More about why.
    pub stop_details: Option<Value>,
}

/// An event, as a client reads it.
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

/// What a reply begins with; a message's own blocks are of no interest there.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct IncomingMessage {
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) usage: Option<Usage>,
}

/// A piece of a block, or the end of a reply.
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

/// The type of an event and of its delta alone, whatever the rest looks like.
#[derive(Debug, Deserialize)]
pub(crate) struct Kind {
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) index: Option<Value>,
    #[serde(default)]
    pub(crate) delta: Option<Value>,
}

/// A text, borrowed where it can be; none and `null` are empty, as some servers write all their fields.
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
