//! The pieces of a reply's text, as a watcher gets them.

use std::sync::Arc;

use crate::block::{Annotation, CalledName, Content, UpstreamId};
use crate::ids::ToolCallId;
use crate::opaque::OpaqueState;

/// A piece of a reply, as a watcher gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct TextEvent {
    /// The block's position in the reply.
    pub block: u32,
    /// The event of the block.
    pub kind: TextEventKind,
}

/// An event of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum TextEventKind {
    /// Its end, with its annotations and state.
    Ended {
        /// Its annotations.
        annotations: Vec<Annotation>,
        /// The opaque state of providers that belongs to it.
        opaque: Vec<OpaqueState>,
    },
    /// Its start.
    Started(TextStart),
    /// More of its text.
    Text {
        /// The kind of text.
        kind: TextKind,
        /// The text.
        text: Arc<str>,
    },
}

/// The kind of a reply's text.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum TextKind {
    /// The raw arguments of a tool call.
    Arguments,
    /// The text of a refusal.
    Refusal,
    /// The text of the answer.
    Text,
    /// Reasoning.
    Thinking,
}

/// The start of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum TextStart {
    /// A tool call; its arguments follow.
    Call {
        /// Whether the provider runs it itself.
        by_provider: bool,
        /// Jackfield's id of it.
        id: ToolCallId,
        /// Whether the arguments are JSON, or free text.
        json: bool,
        /// The tool's name, as the model wrote it.
        name: CalledName,
        /// The provider's id of it.
        upstream: Option<UpstreamId>,
    },
    /// A refusal; its text follows.
    Refusal,
    /// Text, which follows.
    Text {
        /// What is known of its state by now, as in [`OpaqueState::initial_state`]. All of it comes with its end.
        initial_state: Option<OpaqueState>,
    },
    /// Reasoning; its text follows.
    Thinking {
        /// What is known of its state by now, as in [`OpaqueState::initial_state`]. All of it comes with its end.
        initial_state: Option<OpaqueState>,
        /// Whether the provider hides it.
        redacted: bool,
    },
    /// A complete block.
    Whole(Content),
}
