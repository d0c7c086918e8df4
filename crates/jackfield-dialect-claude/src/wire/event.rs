//! The events of a streamed reply.
//!
//! Written from [`Event`]. Read into one flat form with every field that some event has, because that
//! takes one pass over the text; a tagged form is put aside first and read a second time.

use std::borrow::Cow;

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
    #[serde(borrow, default, rename = "type")]
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
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) text: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) partial_json: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) thinking: Cow<'a, str>,
    #[serde(borrow, default)]
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
