//! What a model sends back, and how it ended.

use std::sync::Arc;

use crate::message::Message;
use crate::note::Note;
use crate::opaque::OpaqueState;
use crate::usage::Usage;

/// A whole reply of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// How and with what it ended.
    pub end: ReplyEnd,
    /// The blocks, in the order in which they started.
    pub message: Arc<Message>,
}

/// The end of a reply: everything about it that is not a block.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyEnd {
    /// Why it ended.
    pub finish: FinishReason,
    /// The model that answered, where the provider says so.
    pub model: Option<Arc<str>>,
    /// What got lost or changed on the way to the provider and back.
    pub notes: Vec<Note>,
    /// State of the provider that belongs to the whole reply.
    pub opaque: Vec<OpaqueState>,
    /// The provider's id of the reply.
    pub upstream: Option<Arc<str>>,
    /// What it used: as the provider counts, or as an estimate that says so.
    pub usage: Option<Usage>,
}

impl ReplyEnd {
    /// An end for this reason, with nothing else known.
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
/// Exhaustive on purpose: a new reason has to break every mapper at compile time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FinishReason {
    /// A filter of the provider took over.
    ContentFilter,
    /// The model's context is full.
    ContextFull,
    /// The limit on output tokens was reached; the last call may be cut off.
    Length,
    /// The provider wants the reply back as it is, to go on with it.
    Paused,
    /// The model, or a guard before it, refused.
    Refused,
    /// The model was done.
    Stop,
    /// One of the stop sequences came, this one.
    StopSequence(Arc<str>),
    /// The model waits for the outcomes of its calls.
    ToolCalls,
    /// A reason that the dialect did not know, as the provider wrote it.
    Unrecognized(Arc<str>),
}
