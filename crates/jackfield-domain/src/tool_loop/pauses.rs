//! Pauses: a turn whose budget is used up between rounds waits for room in it.
//!
//! The wait is a question to people: an approval tries the model call again, such as after a raise, and a denial ends
//! the turn. At its deadline the period of the budget has ended, and the call is tried again, too.

use std::time::Duration;

use crate::fact::{Fact, TurnEnd};
use crate::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use crate::ids::{ModelAttempt, ToolCallId, WaitId};
use crate::tool_loop::action::Action;
use crate::tool_loop::decider::Decider;
use crate::wait::{Answer, Approval, CancelCause, Wait, WaitEnd, WaitKind};

impl Decider<'_> {
    /// How long the turn waits after this failure, if it waits for room in a budget.
    ///
    /// In the first round, nothing is lost when the turn ends. Where the budget cannot be read, it is not known
    /// when to come again.
    pub(super) fn pause_after(
        &self,
        attempt: ModelAttempt,
        failure: &ModelFailure,
    ) -> Option<Duration> {
        let pauses = self.turn.setup.pauses && attempt.round > 1;
        match (failure.kind, failure.advice) {
            (ModelFailureKind::BudgetExhausted, RetryAdvice::After(pause)) if pauses => {
                Some(pause.max(MIN_PAUSE))
            }
            _ => None,
        }
    }

    /// Opens the wait for room, after this attempt found none.
    pub(super) fn pause(&mut self, attempt: ModelAttempt, pause: Duration, message: &str) {
        // No reply came, so no call has this id.
        let call = ToolCallId::derive(&self.turn.id, attempt, 0);
        let wait = Wait {
            deadline: self.now.wall.after(pause),
            id: WaitId::derive(&call, 1),
            kind: WaitKind::Budget {
                message: message.into(),
            },
            call,
        };
        self.decide(Fact::WaitOpened { wait: wait.clone() });
        self.actions.push(Action::OpenWait(wait));
    }

    /// Tries the call again, or ends the turn with the failure that it waited for.
    pub(super) fn pause_answered(&mut self, message: &str, answer: &Answer) {
        if let Answer::Approval(Approval::Denied { .. }) = answer {
            let kind = ModelFailureKind::BudgetExhausted;
            let failure = ModelFailure::new(kind, Phase::BeforeSend, message);
            return self.end(TurnEnd::Failed(failure));
        }
        self.next_attempt();
    }

    /// Tries the call again if the deadline of the wait has passed.
    pub(super) fn expire_pause(&mut self) {
        let now = self.now.wall;
        let Some(wait) = self.turn.pause.clone().filter(|wait| wait.deadline <= now) else {
            return;
        };
        self.decide(Fact::WaitClosed {
            end: WaitEnd::Expired,
            subject: None,
            wait: wait.id,
        });
        self.next_attempt();
    }

    /// Announces the wait again, in the process that resumed the turn.
    pub(super) fn recover_pause(&mut self) {
        self.actions
            .extend(self.turn.pause.clone().map(Action::OpenWait));
        self.expire_pause();
    }

    /// Closes the wait of a turn that is cancelled.
    pub(super) fn cancel_pause(&mut self, cause: CancelCause) {
        if let Some(wait) = self.turn.pause.clone() {
            self.cancel_wait(&wait, cause);
        }
    }
}

/// The shortest wait: a budget that calls in flight have reserved has room again when they have ended.
const MIN_PAUSE: Duration = Duration::from_secs(30);
