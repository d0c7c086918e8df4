//! Inputs: the events that the loop handles.

use std::sync::Arc;

use crate::delta::Delta;
use crate::fact::{CachedCall, InputKind};
use crate::failure::{ModelFailure, ToolFailure};
use crate::ids::{ModelAttempt, ToolAttempt};
use crate::outcome::ToolResult;
use crate::reply::ReplyEnd;
use crate::target::BreakerSnapshot;
use crate::usage::Usage;
use crate::wait::{Delivery, JobHandle, Question};

/// An event that has happened. Named in the past tense.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The breakers of the turn's targets that are not closed, for the decisions about the next inputs. It leads to no
    /// fact by itself; what a decision saw is part of its fact.
    BreakersSeen(Vec<BreakerSnapshot>),
    /// An answer to a wait, or a cancel.
    Delivered(Delivery),
    /// The server of a reply sent something that is no piece: it is alive.
    ReplyAlive {
        /// The attempt that it belongs to.
        attempt: ModelAttempt,
    },
    /// A provider reported the usage of a reply so far; more reports may follow.
    ReplyCounted {
        /// The attempt that it belongs to.
        attempt: ModelAttempt,
        /// The total so far.
        usage: Usage,
    },
    /// A piece of a reply arrived.
    ReplyDelta {
        /// The attempt that it belongs to.
        attempt: ModelAttempt,
        /// The piece.
        delta: Delta,
    },
    /// A reply is complete.
    ReplyEnded {
        /// The attempt.
        attempt: ModelAttempt,
        /// Its end.
        end: Box<ReplyEnd>,
    },
    /// A model call failed.
    ReplyFailed {
        /// The attempt.
        attempt: ModelAttempt,
        /// The failure.
        failure: ModelFailure,
    },
    /// A tool reported that the call continues elsewhere.
    ToolAccepted {
        /// The attempt.
        attempt: ToolAttempt,
        /// The handle that finds it.
        handle: JobHandle,
    },
    /// A tool has a question. The attempt ends, and continues when there is an answer.
    ToolAsked {
        /// The attempt.
        attempt: ToolAttempt,
        /// The handle for passing on the answer.
        handle: JobHandle,
        /// The question.
        question: Question,
    },
    /// The outcome of an equal call is still valid, so the tool was not run.
    ToolCached {
        /// The attempt.
        attempt: ToolAttempt,
        /// The call that the tool answered.
        from: Arc<CachedCall>,
        /// The result.
        result: ToolResult,
    },
    /// A tool call ended without an outcome.
    ToolFailed {
        /// The attempt.
        attempt: ToolAttempt,
        /// The failure.
        failure: ToolFailure,
    },
    /// A tool answered.
    ToolFinished {
        /// The attempt.
        attempt: ToolAttempt,
        /// The result.
        result: ToolResult,
    },
    /// The instant that the last step asked for, or an earlier one.
    Woke,
}

impl Input {
    /// The kind of this input. A usage report and a sign of life count as deltas of their reply, and breakers as a
    /// wake-up; none leads to a fact by itself. A kept outcome counts as the tool's.
    #[must_use]
    pub const fn kind(&self) -> InputKind {
        match self {
            Self::Delivered(_) => InputKind::Delivered,
            Self::ReplyAlive { .. } | Self::ReplyCounted { .. } | Self::ReplyDelta { .. } => {
                InputKind::ReplyDelta
            }
            Self::ReplyEnded { .. } => InputKind::ReplyEnded,
            Self::ReplyFailed { .. } => InputKind::ReplyFailed,
            Self::ToolAccepted { .. } => InputKind::ToolAccepted,
            Self::ToolAsked { .. } => InputKind::ToolAsked,
            Self::ToolFailed { .. } => InputKind::ToolFailed,
            Self::ToolCached { .. } | Self::ToolFinished { .. } => InputKind::ToolFinished,
            Self::BreakersSeen(_) | Self::Woke => InputKind::Woke,
        }
    }
}
