//! Facts: the content of the journal. A fact is something that has happened, or a decision with all of its
//! inputs.

use std::sync::Arc;
use std::time::Duration;

use crate::digest::Digest;
use crate::failure::{Disposition, ModelFailure, ToolFailureKind};
use crate::ids::{
    ForkPlace, ModelAttempt, SessionId, ToolAttempt, ToolCallId, ToolName, TurnId, WaitId,
};
use crate::limits::LimitKind;
use crate::message::Message;
use crate::outcome::ToolResult;
use crate::price::{self, Cost};
use crate::reply::{FinishReason, Reply};
use crate::request::ModelRef;
use crate::restrictions::Restrictions;
use crate::setup::{Opening, Setup};
use crate::target::{Reservation, TargetChoice};
use crate::time::{Now, WallTime};
use crate::tool::Catalog;
use crate::tool_input::ToolInput;
use crate::usage::Usage;
use crate::wait::{CancelCause, JobHandle, Wait, WaitEnd};

/// One fact of a session's journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// The provider keeps a session of its own for the turn, which a later process can continue.
    BackendSession {
        /// The attempt that began it.
        attempt: ModelAttempt,
        /// The provider's id of the session.
        id: Arc<str>,
    },
    /// A tool reported that the call continues elsewhere, and how to find it.
    CallAccepted {
        /// The attempt.
        attempt: ToolAttempt,
        /// The handle that finds it.
        handle: JobHandle,
    },
    /// A call got its outcome.
    CallClosed {
        /// The call that the outcome was copied from, if it was.
        cached: Option<Arc<CachedCall>>,
        /// The call.
        call: ToolCallId,
        /// How it got the outcome.
        end: CallEnd,
        /// The stored part of the outcome.
        result: Arc<ToolResult>,
        /// The tools that the outcome added to the turn's catalog, if it did.
        revealed: Option<Arc<Catalog>>,
        /// The number of bytes that models see, if the outcome is cut.
        shown: Option<usize>,
    },
    /// An attempt ended without an outcome.
    CallLost {
        /// The attempt.
        attempt: ToolAttempt,
        /// What is known of its effects.
        disposition: Disposition,
        /// The kind of failure.
        kind: ToolFailureKind,
        /// The failure, in a sentence.
        message: Arc<str>,
        /// The decision about it.
        then: AfterLoss,
    },
    /// A call was started: it is passed to its toolbox, unless the outcome of an equal call is still valid. Recorded
    /// when a slot is free, never in advance.
    CallStarted {
        /// The wait whose answer allowed it, if it needed one. This consumes the approval, unless it is a
        /// session grant.
        approval: Option<WaitId>,
        /// The attempt.
        attempt: ToolAttempt,
        /// The arguments that replaced the model's, if an approver edited them.
        edited: Option<Arc<ToolInput>>,
        /// Whether it may run again if its outcome is lost.
        may_repeat: bool,
        /// Until when that may be, if the tool tells repetitions only by their idempotency key, which the other side
        /// forgets at some time; loops of version 3 and before did not say it.
        repeat_until: Option<WallTime>,
        /// Its time limit.
        time_limit: Duration,
    },
    /// The beginning of the conversation was replaced by a shorter one, or the attempt at that failed.
    Compacted(Arc<Compaction>),
    /// A late event of a call that was already closed: counted, but never part of the messages.
    Late(Late),
    /// A model call ended without a reply.
    ModelCallEnded {
        /// Whether the next attempt follows at once. Such an attempt does not count as a retry.
        at_once: bool,
        /// The attempt.
        attempt: ModelAttempt,
        /// The time from the start of the attempt to the first piece of the reply, if it is known.
        first_token: Option<Duration>,
        /// The text that it had produced.
        partial: Option<Arc<Message>>,
        /// When it is retried, if it is.
        retry_at: Option<WallTime>,
        /// What it used of the budgets that it had reserved.
        settled: Vec<Reservation>,
        /// Its usage, if it may have used tokens. Mostly an estimate, because interrupted replies are not
        /// counted.
        usage: Option<Usage>,
        /// Why it ended.
        why: ModelCallEnd,
        /// Whether the client has to discard the text that it was shown.
        withdrawn: bool,
    },
    /// A round's model call was sent to its provider.
    ModelCallStarted {
        /// The active time of the turn so far, without waits.
        active: Duration,
        /// The attempt.
        attempt: ModelAttempt,
        /// Why it calls this target, if a route decided that.
        choice: Option<Arc<TargetChoice>>,
        /// What it reserved of the budgets.
        reserved: Vec<Reservation>,
        /// The index of its target in the turn's targets; 0 is the setup's model.
        target: u32,
        /// Whether it may use tools.
        tools: ToolUse,
    },
    /// A model replied.
    ReplyReceived {
        /// The attempt.
        attempt: ModelAttempt,
        /// The time from the start of the attempt to the first piece of the reply, if it is known.
        first_token: Option<Duration>,
        /// The reply.
        reply: Arc<Reply>,
        /// What it used of the budgets that it had reserved.
        settled: Vec<Reservation>,
    },
    /// The session began as a fork of another one, with the other's messages up to a place.
    SessionForked {
        /// The place at which the other session was forked.
        at: ForkPlace,
        /// The other session.
        from: SessionId,
        /// The messages.
        messages: Arc<Vec<Arc<Message>>>,
        /// The tools that searches had revealed to the other session until then, in their order.
        revealed: Vec<ToolName>,
    },
    /// The session began with a conversation that was brought along from another program.
    SessionImported {
        /// When the conversation began, if that is known.
        created: Option<WallTime>,
        /// The messages.
        messages: Arc<Vec<Arc<Message>>>,
        /// The other program.
        source: Arc<str>,
        /// Its title there, if it had one.
        title: Option<Arc<str>>,
    },
    /// A turn ended.
    TurnEnded {
        /// How.
        end: TurnEnd,
        /// The key of the client's conversation, including what the client received in this turn. Set if the
        /// client received something and keeps the conversation.
        view: Option<Digest>,
    },
    /// A turn began.
    TurnOpened {
        /// Its opening.
        opening: Opening,
        /// Its place in the session, from 1.
        ordinal: u32,
        /// Its setup.
        setup: Arc<Setup>,
        /// Its id.
        turn: TurnId,
    },
    /// A process resumed a turn that another process had left.
    TurnResumed {
        /// How many times the turn was resumed, including this one.
        nth: u32,
        /// The restrictions since then, if any.
        restrictions: Option<Arc<Restrictions>>,
    },
    /// A wait ended.
    WaitClosed {
        /// How.
        end: WaitEnd,
        /// The subject that may run, with edited arguments, if the end allows a call.
        subject: Option<Digest>,
        /// The wait.
        wait: WaitId,
    },
    /// A wait was opened.
    WaitOpened {
        /// The wait.
        wait: Wait,
    },
}

impl Fact {
    /// Whether this fact is progress of its turn. Starts are not, and neither is the end of an attempt that is
    /// retried: a turn that crashes its process each time would write these forever.
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
            | Self::Compacted(_)
            | Self::ReplyReceived { .. }
            | Self::SessionForked { .. }
            | Self::SessionImported { .. }
            | Self::TurnEnded { .. }
            | Self::TurnOpened { .. }
            | Self::WaitClosed { .. }
            | Self::WaitOpened { .. } => true,
            Self::BackendSession { .. }
            | Self::CallStarted { .. }
            | Self::Late(_)
            | Self::ModelCallStarted { .. }
            | Self::TurnResumed { .. } => false,
        }
    }

    /// The usage of a model call that this fact reports. Two facts may report the same call, which counts once:
    /// a count replaces an estimate.
    #[must_use]
    pub fn usage(&self) -> Option<(ModelAttempt, Usage)> {
        match self {
            Self::Compacted(compaction) => {
                compaction.usage.map(|usage| (compaction.attempt, usage))
            }
            Self::Late(Late::Usage { attempt, usage }) => Some((*attempt, *usage)),
            Self::ModelCallEnded { attempt, usage, .. } => usage.map(|usage| (*attempt, usage)),
            Self::ReplyReceived { attempt, reply, .. } => {
                reply.end.usage.map(|usage| (*attempt, usage))
            }
            Self::BackendSession { .. }
            | Self::CallAccepted { .. }
            | Self::CallClosed { .. }
            | Self::CallLost { .. }
            | Self::CallStarted { .. }
            | Self::Late(Late::Outcome { .. })
            | Self::ModelCallStarted { .. }
            | Self::SessionForked { .. }
            | Self::SessionImported { .. }
            | Self::TurnEnded { .. }
            | Self::TurnOpened { .. }
            | Self::TurnResumed { .. }
            | Self::WaitClosed { .. }
            | Self::WaitOpened { .. } => None,
        }
    }
}

/// A call whose outcome was used again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CachedCall {
    /// The call.
    pub call: ToolCallId,
    /// Its session.
    pub session: SessionId,
    /// Its turn.
    pub turn: TurnId,
}

/// A replacement of the beginning of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    /// The attempt at the summary: attempt 0 of the round that the compaction precedes, or of the round whose
    /// request was too long.
    pub attempt: ModelAttempt,
    /// Why nothing was replaced, if there is no summary.
    pub failure: Option<ModelCallEnd>,
    /// The messages that stand in its place.
    pub messages: Vec<Arc<Message>>,
    /// The model that wrote them, if one did.
    pub model: Option<ModelRef>,
    /// How many messages were replaced.
    pub replaced: usize,
    /// The usage of the model, if one wrote them.
    pub usage: Option<Usage>,
}

impl Compaction {
    /// The cost of the summary, if it used tokens and the price of its model was known when the turn began.
    #[must_use]
    pub fn cost(&self, setup: &Setup) -> Option<Cost> {
        let (model, usage) = (self.model.as_ref()?, self.usage?);
        let price = if *model == setup.model {
            setup.price.as_ref()
        } else {
            let mut fallbacks = setup.fallbacks.iter();
            fallbacks
                .find(|target| target.model == *model)
                .and_then(|target| target.price.as_ref())
        };
        price::cost_of(&usage, price)
    }
}

/// The decision about an attempt that ended without an outcome.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AfterLoss {
    /// Ask a person.
    Ask,
    /// Make the call again.
    Repeat,
    /// Report the loss to the model.
    Report,
}

crate::named! { AfterLoss: Ask = "ask", Repeat = "repeat", Report = "report" }

/// How a call got its outcome.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum CallEnd {
    /// The turn was cancelled.
    Cancelled,
    /// The client ran it and sent the result.
    ByClient,
    /// It was not run, because the outcome of an equal call was still valid.
    Cached,
    /// The client did not send a result in time.
    ClientExpired,
    /// A person or a rule denied it.
    Denied,
    /// It was not run, for a reason that its outcome names.
    NotRun,
    /// The tool answered.
    Ran,
    /// It is unknown whether it took effect, or only its result is lost; the outcome says which.
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
    /// The model answered; the reason tells whether the answer is complete.
    Answered(FinishReason),
    /// It was cancelled.
    Cancelled(CancelCause),
    /// A client did not send the result of its tool in time.
    ClientExpired,
    /// A model call failed permanently.
    Failed(ModelFailure),
    /// A model call failed after text was streamed that cannot be taken back; the text is kept.
    Interrupted(ModelFailure),
    /// A limit was reached.
    Limited {
        /// Whether the limit counts as an error.
        is_error: bool,
        /// Which limit.
        limit: LimitKind,
    },
}

impl TurnEnd {
    /// Its name, without the details.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::Cancelled(_) => "cancelled",
            Self::ClientExpired => "client_expired",
            Self::Failed(_) => "failed",
            Self::Interrupted(_) => "interrupted",
            Self::Limited { .. } => "limited",
        }
    }
}

/// An event that arrived after its call was closed.
#[derive(Clone, Debug, PartialEq)]
pub enum Late {
    /// A tool's outcome.
    Outcome {
        /// The attempt.
        attempt: ToolAttempt,
        /// Whether the outcome is an error.
        is_error: bool,
        /// The size of the outcome, in bytes.
        size: usize,
    },
    /// The usage of a model call.
    Usage {
        /// The attempt.
        attempt: ModelAttempt,
        /// The usage.
        usage: Usage,
    },
}

/// The facts of one step, with what a replay needs to decide it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The facts, in order.
    pub facts: Vec<Fact>,
    /// The input that the step answered.
    pub input: InputKind,
    /// When it was decided.
    pub now: Now,
    /// Its number within the session, from 0.
    pub step: u64,
    /// The loop version that decided it.
    pub version: u32,
}

/// The kind of input that a step answered.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum InputKind {
    /// The beginning of a turn.
    Began,
    /// A delivery.
    Delivered,
    /// The fork of a session.
    Forked,
    /// A conversation of another program.
    Imported,
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
    /// A wake-up.
    Woke,
}

crate::named! { InputKind:
    Began = "began", Delivered = "delivered", Forked = "forked", Imported = "imported", Recovered = "recovered",
    ReplyDelta = "reply_delta", ReplyEnded = "reply_ended", ReplyFailed = "reply_failed",
    ToolAccepted = "tool_accepted", ToolAsked = "tool_asked", ToolFailed = "tool_failed",
    ToolFinished = "tool_finished", Woke = "woke",
}
