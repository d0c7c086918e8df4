//! Resumes and lost replies of a turn.

use std::sync::Arc;

use super::{CallState, Turn};
use crate::restrictions::Restrictions;
use crate::wait::{Wait, WaitKind};

impl Turn {
    /// The number of resumes without progress after which the turn is parked.
    pub const MAX_RESUMES_WITHOUT_PROGRESS: u32 = 3;

    /// The number of replies that were lost with their process.
    #[must_use]
    pub const fn lost_replies(&self) -> u32 {
        self.lost_replies
    }

    /// The number of times that a process resumed it after another one.
    #[must_use]
    pub const fn resume_count(&self) -> u32 {
        self.resume_count
    }

    /// The number of resumes since its last progress. Resuming a turn that only waits does not count, because
    /// it has not failed.
    #[must_use]
    pub const fn resumes_without_progress(&self) -> u32 {
        self.resumes_without_progress
    }

    /// Whether it was resumed so often without progress that a person has to decide.
    #[must_use]
    pub const fn is_parked(&self) -> bool {
        self.resumes_without_progress >= Self::MAX_RESUMES_WITHOUT_PROGRESS
    }

    /// Whether it only waits for external answers: nothing runs, nothing is scheduled, and nothing can start.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        if self.pause.is_some() {
            return true;
        }
        let slots = self.setup.limits.parallel_calls.max(1) as usize;
        let (mut is_waiting, mut used_slots, mut queued) = (false, 0, false);
        for call in self.calls() {
            used_slots += usize::from(call.holds_slot());
            match &call.state {
                CallState::Closed(_) => {}
                CallState::Granted(_) | CallState::Queued => queued = true,
                CallState::Lost | CallState::Running(_) => return false,
                CallState::Waiting(_) => is_waiting = true,
            }
        }
        // Calls that are queued behind tools' questions cannot start before these are answered.
        is_waiting && (!queued || used_slots >= slots)
    }

    /// Whether it only waits, and at least one client tool result is missing.
    #[must_use]
    pub fn waits_for_client(&self) -> bool {
        let is_client_result = |wait: &Wait| matches!(wait.kind, WaitKind::ClientResult);
        self.only_waits() && self.waits().any(is_client_result)
    }

    /// The restrictions since it was last resumed.
    #[must_use]
    pub const fn restrictions(&self) -> &Arc<Restrictions> {
        &self.restrictions
    }

    /// Applies a resume.
    pub(super) fn apply_resume(&mut self, nth: u32, restrictions: Option<&Arc<Restrictions>>) {
        if !self.only_waits() {
            self.resumes_without_progress += 1;
        }
        self.restrictions = restrictions.map(Arc::clone).unwrap_or_default();
        self.resume_count = nth;
    }
}
