//! Replies of models, and how they end.

use std::sync::Arc;

use crate::message::Message;
use crate::note::Note;
use crate::opaque::OpaqueState;
use crate::usage::Usage;

/// A complete reply of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The end of the reply.
    pub end: ReplyEnd,
    /// The blocks, in the order in which they started.
    pub message: Arc<Message>,
}

/// The end of a reply: everything except its blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyEnd {
    /// The reason for the end.
    pub finish: FinishReason,
    /// The model that answered, if the provider reports it.
    pub model: Option<Arc<str>>,
    /// What was lost or changed on the way to the provider and back.
    pub notes: Vec<Note>,
    /// Opaque state of the provider that belongs to the whole reply.
    pub opaque: Vec<OpaqueState>,
    /// The provider's id of the reply.
    pub upstream: Option<Arc<str>>,
    /// The usage: counted by the provider, or marked as an estimate.
    pub usage: Option<Usage>,
}

impl ReplyEnd {
    /// An end with this reason and nothing else.
    #[must_use]
    pub const fn new(finish: FinishReason) -> Self {
        Self {
            finish,
            model: None,
            notes: Vec::new(),
            opaque: Vec::new(),
            upstream: None,
            usage: None,
        }
    }
}

/// Why a reply ended.
///
/// Exhaustive on purpose: a new reason must break every mapper at compile time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FinishReason {
    /// The provider's content filter stopped it.
    ContentFilter,
    /// The model's context is full.
    ContextFull,
    /// The output token limit was reached; the last call may be cut off.
    Length,
    /// The provider paused, and needs the reply back unchanged to continue.
    Paused,
    /// The model, or a guard in front of it, refused.
    Refused,
    /// The model finished.
    Stop,
    /// This stop sequence occurred.
    StopSequence(Arc<str>),
    /// The model waits for the outcomes of its calls.
    ToolCalls,
    /// A reason that the dialect does not know, as the provider wrote it.
    Unrecognized(Arc<str>),
}
