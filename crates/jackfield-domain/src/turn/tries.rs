//! How often a turn was taken up, and what came of that.

use std::sync::Arc;

use super::{CallState, Turn};
use crate::fact::{CallEnd, Fact};
use crate::failure::ToolFailureKind;
use crate::restrictions::Restrictions;
use crate::wait::{Wait, WaitEnd, WaitKind};

impl Turn {
    /// How often a turn is taken up without coming further before it is left to a person.
    pub const MOST_FRUITLESS: u32 = 3;

    /// How many replies were lost with the process that waited for them.
    #[must_use]
    pub const fn lost_replies(&self) -> u32 {
        self.lost_replies
    }

    /// How often a process took it up that another one had left.
    #[must_use]
    pub const fn resumed(&self) -> u32 {
        self.resumed
    }

    /// How often a process took it up since it came further last. Only waiting is no try: a turn that
    /// is asked about, and waits on, has not failed at anything.
    #[must_use]
    pub const fn fruitless(&self) -> u32 {
        self.fruitless
    }

    /// Whether it was taken up so often without coming further that a person has to say what now.
    #[must_use]
    pub const fn is_parked(&self) -> bool {
        self.fruitless >= Self::MOST_FRUITLESS
    }

    /// Whether it only waits for somebody outside: nothing runs, nothing is scheduled, nothing can start.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        let slots = self.setup.limits.parallel_calls.max(1) as usize;
        let (mut asked, mut held, mut queued) = (false, 0, false);
        for call in self.calls() {
            held += usize::from(call.holds_slot());
            match &call.state {
                CallState::Closed(_) => {}
                CallState::Granted(_) | CallState::Queued => queued = true,
                CallState::Lost | CallState::Running(_) => return false,
                CallState::Waiting(_) => asked = true,
            }
        }
        // What is queued behind questions that tools have asked cannot start before they are answered.
        asked && (!queued || held >= slots)
    }

    /// Whether it only waits, and at least one result of its client is missing.
    #[must_use]
    pub fn waits_for_client(&self) -> bool {
        let is_its = |wait: &Wait| matches!(wait.kind, WaitKind::ClientResult);
        self.only_waits() && self.waits().any(is_its)
    }

    /// Takes down whether the reply to its client ends with what this fact has led to: the client has what it
    /// is to run, and brings what comes of that.
    pub(super) fn tell_client(&mut self, fact: &Fact) {
        self.is_cancelling = match fact {
            // What a cancel closes is all of one step: in between, nobody waits for anything.
            Fact::CallClosed {
                end: CallEnd::Cancelled,
                ..
            }
            | Fact::CallLost {
                kind: ToolFailureKind::Cancelled,
                ..
            }
            | Fact::WaitClosed {
                end: WaitEnd::Cancelled | WaitEnd::Superseded,
                ..
            } => true,
            Fact::ModelCallStarted { .. } | Fact::ReplyReceived { .. } => false,
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => self.is_cancelling,
        };
        if self.told != self.round && !self.is_cancelling && self.waits_for_client() {
            self.told = self.round;
        }
    }

    /// What the day forbids on which it was taken up last.
    #[must_use]
    pub const fn restrictions(&self) -> &Arc<Restrictions> {
        &self.restrictions
    }

    /// Folds in that a process took it up.
    pub(super) fn take_up(&mut self, nth: u32, restrictions: Option<&Arc<Restrictions>>) {
        if !self.only_waits() {
            self.fruitless += 1;
        }
        self.restrictions = restrictions.map(Arc::clone).unwrap_or_default();
        self.resumed = nth;
    }
}
