//! Facts: what the journal keeps. Something that has happened, or a decision with everything looked up for it.

use std::sync::Arc;
use std::time::Duration;

use crate::digest::Digest;
use crate::failure::{Disposition, ModelFailure, ToolFailureKind};
use crate::fork::ForkPlace;
use crate::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, TurnId, WaitId};
use crate::limits::LimitKind;
use crate::message::Message;
use crate::outcome::ToolResult;
use crate::reply::{FinishReason, Reply};
use crate::restrictions::Restrictions;
use crate::setup::{Opening, Setup};
use crate::time::{Now, WallTime};
use crate::tool_input::ToolInput;
use crate::usage::Usage;
use crate::wait::{CancelCause, JobHandle, Wait, WaitEnd};

/// One line of a session's journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A tool said that the call goes on elsewhere, and how to find it again.
    CallAccepted {
        /// The try.
        attempt: ToolAttempt,
        /// What finds it again.
        handle: JobHandle,
    },
    /// A call has its outcome.
    CallClosed {
        /// The call.
        call: ToolCallId,
        /// How it came to it.
        end: CallEnd,
        /// All of the outcome that is kept.
        result: Arc<ToolResult>,
        /// How many bytes of it a model is shown, where that is not all.
        shown: Option<usize>,
    },
    /// A try ended without an outcome.
    CallLost {
        /// The try.
        attempt: ToolAttempt,
        /// What is known of its effects.
        disposition: Disposition,
        /// What happened.
        kind: ToolFailureKind,
        /// The same in a sentence.
        message: Arc<str>,
        /// What is done about it.
        then: AfterLoss,
    },
    /// A call was handed to its toolbox. Written when a slot is free, never ahead.
    CallStarted {
        /// The question whose answer let it run, where one was needed. This uses the answer up, unless it
        /// was given for the whole session.
        approval: Option<WaitId>,
        /// The try.
        attempt: ToolAttempt,
        /// What it was run with, where an approver changed it.
        edited: Option<Arc<ToolInput>>,
        /// Whether it may be run again if its outcome is lost.
        may_repeat: bool,
        /// How long it may take.
        time_limit: Duration,
    },
    /// Something came after its call was closed: counted, never in the messages.
    Late(Late),
    /// A model call ended without a reply.
    ModelCallEnded {
        /// The try.
        attempt: ModelAttempt,
        /// What it had said, as text.
        partial: Option<Arc<Message>>,
        /// When it is tried again, if it is.
        retry_at: Option<WallTime>,
        /// What it used, if it may have used anything: mostly an estimate, for what breaks off is not counted.
        usage: Option<Usage>,
        /// Why it ended.
        why: ModelCallEnd,
    },
    /// A round's model call was handed to its provider.
    ModelCallStarted {
        /// The time in which something was under way, so far.
        active: Duration,
        /// The try.
        attempt: ModelAttempt,
        /// Whether tools may be used in it.
        tools: ToolUse,
    },
    /// A model replied.
    ReplyReceived {
        /// The try.
        attempt: ModelAttempt,
        /// The reply.
        reply: Arc<Reply>,
    },
    /// The session began as a fork of another one, with the messages that stood there up to a place.
    SessionForked {
        /// Where the other one was forked.
        at: ForkPlace,
        /// The other one.
        from: SessionId,
        /// The messages.
        messages: Arc<Vec<Arc<Message>>>,
    },
    /// A turn ended.
    TurnEnded {
        /// How.
        end: TurnEnd,
        /// The key of the conversation as its client has it now, with what it was shown of this turn; where
        /// it was shown something, and keeps the conversation.
        view: Option<Digest>,
    },
    /// A turn began.
    TurnOpened {
        /// What it began with.
        opening: Opening,
        /// Its place in the session, from 1.
        ordinal: u32,
        /// Every decision made for it.
        setup: Arc<Setup>,
        /// Its id.
        turn: TurnId,
    },
    /// A process took up a turn that another one had left.
    TurnResumed {
        /// How often that has happened to it.
        nth: u32,
        /// What that day forbade, where it forbade anything.
        restrictions: Option<Arc<Restrictions>>,
    },
    /// A question to somebody outside ended.
    WaitClosed {
        /// How.
        end: WaitEnd,
        /// Where it lets a call run: what exactly may run, with the arguments as they were changed.
        subject: Option<Digest>,
        /// The wait.
        wait: WaitId,
    },
    /// Somebody outside has to be asked.
    WaitOpened {
        /// The question.
        wait: Wait,
    },
}

impl Fact {
    /// Whether a turn has come further by this. A start is none, and neither is the end of a try that
    /// is only made again: a turn that takes its process down each time would write these for ever.
    #[must_use]
    pub const fn is_progress(&self) -> bool {
        match self {
            Self::CallLost { then, .. } => match then {
                AfterLoss::Ask | AfterLoss::Report => true,
                AfterLoss::Repeat => false,
            },
            Self::ModelCallEnded { why, .. } => match why {
                ModelCallEnd::Cancelled | ModelCallEnd::Failed(_) => true,
                ModelCallEnd::Lost => false,
            },
            Self::CallAccepted { .. }
            | Self::CallClosed { .. }
            | Self::ReplyReceived { .. }
            | Self::SessionForked { .. }
            | Self::TurnEnded { .. }
            | Self::TurnOpened { .. }
            | Self::WaitClosed { .. }
            | Self::WaitOpened { .. } => true,
            Self::CallStarted { .. }
            | Self::Late(_)
            | Self::ModelCallStarted { .. }
            | Self::TurnResumed { .. } => false,
        }
    }

    /// What this fact says that a model call used. The same call may be told of twice, and counts once:
    /// a count takes the place of an estimate.
    #[must_use]
    pub fn usage(&self) -> Option<(ModelAttempt, Usage)> {
        match self {
            Self::Late(Late::Usage { attempt, usage }) => Some((*attempt, *usage)),
            Self::ModelCallEnded { attempt, usage, .. } => usage.map(|usage| (*attempt, usage)),
            Self::ReplyReceived { attempt, reply } => {
                reply.end.usage.map(|usage| (*attempt, usage))
            }
            Self::CallAccepted { .. }
            | Self::CallClosed { .. }
            | Self::CallLost { .. }
            | Self::CallStarted { .. }
            | Self::Late(Late::Outcome { .. })
            | Self::ModelCallStarted { .. }
            | Self::SessionForked { .. }
            | Self::TurnEnded { .. }
            | Self::TurnOpened { .. }
            | Self::TurnResumed { .. }
            | Self::WaitClosed { .. }
            | Self::WaitOpened { .. } => None,
        }
    }
}

/// What is done about a try that ended without an outcome.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AfterLoss {
    /// A person is asked.
    Ask,
    /// The call is made again.
    Repeat,
    /// The model is told.
    Report,
}

/// How a call came to its outcome.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum CallEnd {
    /// The turn was cancelled.
    Cancelled,
    /// The caller ran it and sent the result.
    ByClient,
    /// The caller did not send a result in time.
    ClientExpired,
    /// A person or a rule said no.
    Denied,
    /// It was not run, for a reason that its outcome names.
    NotRun,
    /// The tool answered.
    Ran,
    /// Nobody knows whether it took effect, or only its result is lost; the outcome says which.
    Reported,
}

/// Why a model call ended without a reply.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ModelCallEnd {
    /// The turn was cancelled.
    Cancelled,
    /// It failed.
    Failed(ModelFailure),
    /// The process that made it ended.
    Lost,
}

/// Whether tools may be used in a round.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ToolUse {
    /// They may.
    Allowed,
    /// They may not: only the first round may use them.
    FirstRoundOnly,
    /// They may not: this is the last round, because of this limit.
    LastRound(LimitKind),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEnd {
    /// The model answered; the reason says whether the answer is whole.
    Answered(FinishReason),
    /// It was cancelled.
    Cancelled(CancelCause),
    /// A caller did not send the result of its tool in time.
    ClientExpired,
    /// A model call failed for good.
    Failed(ModelFailure),
    /// A model call failed after text that cannot be taken back; the text is kept.
    Interrupted(ModelFailure),
    /// A limit was met.
    Limited {
        /// Whether the turn's owner wants that to be an error.
        is_error: bool,
        /// Which limit.
        limit: LimitKind,
    },
}

/// Something that came after its call was closed.
#[derive(Clone, Debug, PartialEq)]
pub enum Late {
    /// A tool's outcome.
    Outcome {
        /// The try.
        attempt: ToolAttempt,
        /// Whether the tool said that it failed.
        is_error: bool,
        /// The size of what it answered, in bytes.
        size: usize,
    },
    /// What a model call used.
    Usage {
        /// The try.
        attempt: ModelAttempt,
        /// What it used.
        usage: Usage,
    },
}

/// The facts of one step, and what a replay needs to decide it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// What happened, in order.
    pub facts: Vec<Fact>,
    /// What it answered.
    pub input: InputKind,
    /// When.
    pub now: Now,
    /// Its number within the session, from 0.
    pub step: u64,
    /// The version of the loop that decided it.
    pub version: u32,
}

/// What a step answered.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum InputKind {
    /// The beginning of a turn.
    Began,
    /// A delivery.
    Delivered,
    /// The fork of a session.
    Forked,
    /// The start of a recovery.
    Recovered,
    /// A piece of a reply.
    ReplyDelta,
    /// The end of a reply.
    ReplyEnded,
    /// The failure of a model call.
    ReplyFailed,
    /// The acceptance of a job.
    ToolAccepted,
    /// A tool's question.
    ToolAsked,
    /// The failure of a tool call.
    ToolFailed,
    /// A tool's outcome.
    ToolFinished,
    /// An instant that was waited for.
    Woke,
}
