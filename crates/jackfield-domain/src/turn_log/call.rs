//! The log of a tool call: its attempts, its waits and its outcome.

use std::sync::Arc;
use std::time::Duration;

use crate::block::ToolCall;
use crate::fact::{AfterLoss, CachedCall, CallEnd};
use crate::failure::{Disposition, ToolFailureKind};
use crate::ids::WaitId;
use crate::late::LateOutcome;
use crate::outcome::{ToolOutcome, ToolResult};
use crate::time::{MonoTime, WallTime};
use crate::tool_input::ToolInput;
use crate::wait::{Wait, WaitEnd};

/// The log of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallLog {
    /// When the model requested it.
    pub at: WallTime,
    /// Its attempts, in order.
    pub attempts: Vec<AttemptLog>,
    /// The call, with the name and arguments that the model wrote.
    pub call: Arc<ToolCall>,
    /// Its outcome, if it has one.
    pub closed: Option<CallOutcome>,
    /// Late outcomes of attempts that were given up.
    pub late: Vec<LateOutcome>,
    /// The outcome of a provider tool, which is in the same reply.
    pub provided: Option<Arc<ToolOutcome>>,
    /// The round of the turn in which it was made.
    pub round: u32,
    /// The start of the last attempt, on the clock of the process that drives the turn.
    pub(super) started: Option<MonoTime>,
}

impl CallLog {
    /// The arguments that replaced the model's, if an approver edited them.
    #[must_use]
    pub fn edited(&self) -> Option<&Arc<ToolInput>> {
        self.attempts.last()?.edited.as_ref()
    }
}

/// An attempt at a call.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptLog {
    /// Whether the tool reported that the call continues elsewhere.
    pub accepted: bool,
    /// The wait whose answer allowed it, if it needed one.
    pub approval: Option<WaitId>,
    /// When it was started.
    pub at: WallTime,
    /// The arguments that replaced the model's, if an approver edited them.
    pub edited: Option<Arc<ToolInput>>,
    /// How it was lost, if it was.
    pub lost: Option<AttemptLoss>,
    /// Its number, from 1.
    pub number: u32,
    /// Its time limit.
    pub time_limit: Duration,
}

/// How an attempt ended without an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptLoss {
    /// When.
    pub at: WallTime,
    /// What is known of its effects.
    pub disposition: Disposition,
    /// The kind of failure.
    pub kind: ToolFailureKind,
    /// The failure, in a sentence.
    pub message: Arc<str>,
    /// The decision about it.
    pub then: AfterLoss,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// When it was closed.
    pub at: WallTime,
    /// The call that the outcome was copied from, if it was.
    pub cached: Option<Arc<CachedCall>>,
    /// How it got its outcome.
    pub end: CallEnd,
    /// The stored part of the outcome.
    pub result: Arc<ToolResult>,
    /// The number of bytes that models see, if the outcome is cut.
    pub shown: Option<usize>,
    /// The time since its last start, if one process saw both.
    pub took: Option<Duration>,
}

/// The log of a wait.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitLog {
    /// The answer in the inbox: the one that closed it or, while it is open, the first.
    pub answered: Option<(WallTime, WaitEnd)>,
    /// When it was opened.
    pub at: WallTime,
    /// How and when it was closed, if it was.
    pub closed: Option<(WallTime, WaitEnd)>,
    /// The arguments that it is about, if an approver had edited those of the model.
    pub edited: Option<Arc<ToolInput>>,
    /// The wait.
    pub wait: Wait,
}

impl WaitLog {
    /// How and when it ended for the person who answers: an answer counts from its delivery on, even if no process
    /// has consumed it yet.
    #[must_use]
    pub const fn decided(&self) -> Option<&(WallTime, WaitEnd)> {
        match &self.answered {
            None => self.closed.as_ref(),
            answered @ Some(_) => answered.as_ref(),
        }
    }
}
