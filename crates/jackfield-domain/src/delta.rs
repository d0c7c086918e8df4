//! Deltas: a reply as it comes, in pieces; a whole reply is told in the same pieces.

use std::sync::Arc;

use crate::block::{Annotation, Content, RanBy, UpstreamId};
use crate::opaque::OpaqueState;

/// One piece of a reply.
///
/// Several blocks may be open at once; a block's place in the reply is the order of the starts,
/// whatever its `index`, which only ties the pieces of a block together.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// A remark on the open text block.
    AnnotationAdded {
        /// The block.
        index: u32,
        /// The remark.
        annotation: Annotation,
    },
    /// More of the arguments of the open tool call, as raw text.
    ArgumentsAppended {
        /// The block.
        index: u32,
        /// The piece, cut anywhere between characters.
        text: Arc<str>,
    },
    /// Nothing more will come for this block.
    BlockEnded {
        /// The block.
        index: u32,
    },
    /// A block begins.
    BlockStarted {
        /// A number that no other open block has.
        index: u32,
        /// What begins.
        start: BlockStart,
    },
    /// State of the provider for an open block; replaces what it had of the same kind.
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
        /// The piece, cut anywhere between characters.
        text: Arc<str>,
    },
}

/// What begins with a block.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockStart {
    /// A refusal; its words follow.
    Refusal,
    /// Words; they follow.
    Text,
    /// Reasoning; its text follows.
    Thinking {
        /// Whether the provider hides it.
        redacted: bool,
    },
    /// A tool call; its arguments follow. The loop gives it its id.
    ToolCall {
        /// Whether the arguments are JSON, or free text.
        json: bool,
        /// The tool's name, as the model wrote it.
        name: Arc<str>,
        /// Who runs it, as far as the dialect knows: `Engine` unless the provider does.
        ran_by: RanBy,
        /// The provider's id of the call.
        upstream: Option<UpstreamId>,
    },
    /// A block that comes whole. Never text, thinking, a refusal or a tool call.
    Whole(Content),
}

impl Delta {
    /// The block that this piece belongs to.
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

    /// Whether a reader of the stream has seen something of the answer with this piece.
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

    /// How much it adds to the length of a reply: a unit is a block's start, its end, or a byte of text.
    pub(crate) fn units(&self) -> usize {
        match self {
            Self::ArgumentsAppended { text, .. } | Self::TextAppended { text, .. } => text.len(),
            Self::BlockEnded { .. } | Self::BlockStarted { .. } => 1,
            Self::AnnotationAdded { .. } | Self::StateSet { .. } => 0,
        }
    }
}
