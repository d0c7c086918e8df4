//! Inputs: what has happened, told to the loop.

use crate::delta::Delta;
use crate::fact::InputKind;
use crate::failure::{ModelFailure, ToolFailure};
use crate::ids::{ModelAttempt, ToolAttempt};
use crate::outcome::ToolResult;
use crate::reply::ReplyEnd;
use crate::usage::Usage;
use crate::wait::{Delivery, JobHandle, Question};

/// Something that has happened. Past tense on purpose.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Somebody answered a wait, or wants the turn to end.
    Delivered(Delivery),
    /// A provider said what a reply has used so far; more may follow.
    ReplyCounted {
        /// The try that it belongs to.
        attempt: ModelAttempt,
        /// All that was counted by now.
        usage: Usage,
    },
    /// A piece of a reply came.
    ReplyDelta {
        /// The try that it belongs to.
        attempt: ModelAttempt,
        /// The piece.
        delta: Delta,
    },
    /// A reply is complete.
    ReplyEnded {
        /// The try.
        attempt: ModelAttempt,
        /// How it ended.
        end: Box<ReplyEnd>,
    },
    /// A model call failed.
    ReplyFailed {
        /// The try.
        attempt: ModelAttempt,
        /// How.
        failure: ModelFailure,
    },
    /// A tool said that the call goes on elsewhere.
    ToolAccepted {
        /// The try.
        attempt: ToolAttempt,
        /// What finds it again.
        handle: JobHandle,
    },
    /// A tool has a question; its try ended with that, and goes on when there is an answer.
    ToolAsked {
        /// The try.
        attempt: ToolAttempt,
        /// What takes the answer back.
        handle: JobHandle,
        /// The question.
        question: Question,
    },
    /// A tool call ended without an outcome.
    ToolFailed {
        /// The try.
        attempt: ToolAttempt,
        /// How.
        failure: ToolFailure,
    },
    /// A tool answered.
    ToolFinished {
        /// The try.
        attempt: ToolAttempt,
        /// What it answered.
        result: ToolResult,
    },
    /// The instant came that the last step asked for, or an earlier one.
    Woke,
}

impl Input {
    /// What kind of input this is. A count is a piece of its reply, and never leads to a fact by itself.
    #[must_use]
    pub const fn kind(&self) -> InputKind {
        match self {
            Self::Delivered(_) => InputKind::Delivered,
            Self::ReplyCounted { .. } | Self::ReplyDelta { .. } => InputKind::ReplyDelta,
            Self::ReplyEnded { .. } => InputKind::ReplyEnded,
            Self::ReplyFailed { .. } => InputKind::ReplyFailed,
            Self::ToolAccepted { .. } => InputKind::ToolAccepted,
            Self::ToolAsked { .. } => InputKind::ToolAsked,
            Self::ToolFailed { .. } => InputKind::ToolFailed,
            Self::ToolFinished { .. } => InputKind::ToolFinished,
            Self::Woke => InputKind::Woke,
        }
    }
}
