//! Deltas: the pieces of a reply as they arrive. A whole reply is represented by the same pieces.

use std::sync::Arc;

use crate::block::{Annotation, Content, RanBy, UpstreamId};
use crate::opaque::OpaqueState;

/// One piece of a reply.
///
/// Several blocks may be open at once. A block's place in the reply is the order of the starts; its `index`
/// only ties the deltas of one block together.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// An annotation of the open text block.
    AnnotationAdded {
        /// The block.
        index: u32,
        /// The annotation.
        annotation: Annotation,
    },
    /// More arguments of the open tool call, as raw text.
    ArgumentsAppended {
        /// The block.
        index: u32,
        /// The text, cut at any character boundary.
        text: Arc<str>,
    },
    /// The block is complete.
    BlockEnded {
        /// The block.
        index: u32,
    },
    /// A block begins.
    BlockStarted {
        /// An index that no other open block has.
        index: u32,
        /// The start of the block.
        start: BlockStart,
    },
    /// State of the provider for an open block; replaces its earlier state of the same kind.
    StateSet {
        /// The block.
        index: u32,
        /// The state.
        state: OpaqueState,
    },
    /// More of the open text, refusal or thinking block.
    TextAppended {
        /// The block.
        index: u32,
        /// The text, cut at any character boundary.
        text: Arc<str>,
    },
}

/// The start of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockStart {
    /// A refusal; its text follows.
    Refusal,
    /// Text, which follows.
    Text,
    /// Reasoning; its text follows.
    Thinking {
        /// Whether the provider hides it.
        redacted: bool,
    },
    /// A tool call; its arguments follow. The loop assigns its id.
    ToolCall {
        /// Whether the arguments are JSON, or free text.
        json: bool,
        /// The tool's name, as the model wrote it.
        name: Arc<str>,
        /// Who runs it, as far as the dialect knows: `Engine` unless it is a provider tool.
        ran_by: RanBy,
        /// The provider's id of the call.
        upstream: Option<UpstreamId>,
    },
    /// A block that arrives whole. Never text, thinking, a refusal or a tool call.
    Whole(Content),
}

impl Delta {
    /// The index of the block that this delta belongs to.
    #[must_use]
    pub const fn index(&self) -> u32 {
        match self {
            Self::AnnotationAdded { index, .. }
            | Self::ArgumentsAppended { index, .. }
            | Self::BlockEnded { index }
            | Self::BlockStarted { index, .. }
            | Self::StateSet { index, .. }
            | Self::TextAppended { index, .. } => *index,
        }
    }

    /// Whether this delta shows part of the answer to a reader of the stream.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        match self {
            Self::ArgumentsAppended { .. } | Self::AnnotationAdded { .. } => true,
            Self::BlockStarted { start, .. } => match start {
                BlockStart::ToolCall { .. } | BlockStart::Whole(_) => true,
                BlockStart::Refusal | BlockStart::Text | BlockStart::Thinking { .. } => false,
            },
            Self::TextAppended { text, .. } => !text.is_empty(),
            Self::BlockEnded { .. } | Self::StateSet { .. } => false,
        }
    }

    /// How much it adds to the length of a reply, in units: a block's start, its end, or a byte of text.
    pub(crate) fn units(&self) -> usize {
        match self {
            Self::ArgumentsAppended { text, .. } | Self::TextAppended { text, .. } => text.len(),
            Self::BlockEnded { .. } | Self::BlockStarted { .. } => 1,
            Self::AnnotationAdded { .. } | Self::StateSet { .. } => 0,
        }
    }
}
