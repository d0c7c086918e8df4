//! The compaction of a turn's conversation: when one is due, and what it changes.

use std::sync::Arc;

use super::{Definitions, Stage, Turn};
use crate::compaction::{CompactionPlan, CompactionRoom};
use crate::estimate;
use crate::fact::{Compaction, ModelCallEnd};
use crate::failure::ModelFailureKind;
use crate::ids::ModelAttempt;
use crate::message::Messages;
use crate::request::ModelRequest;
use crate::setup::{InputCount, Opening};

/// The compactions of a turn so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Compactions {
    /// Whether one failed: the turn makes no other.
    has_failed: bool,
    /// Whether the last model call failed because its request was too long.
    pub(super) is_too_long: bool,
    /// The round of the last one.
    last_round: Option<u32>,
}

impl Turn {
    /// The compaction that is due before the next model call: its attempt, and what it replaces.
    ///
    /// A step leaves a compaction due only while its summary is being written.
    pub(crate) fn due_compaction(&self) -> Option<(ModelAttempt, CompactionPlan)> {
        let round = match &self.stage {
            Stage::Ready => {
                let window = self.setup.window_of(self.target)?;
                let policy = self.setup.compaction?;
                if !policy.is_reached(self.context_size(), window) {
                    return None;
                }
                self.round.saturating_add(1)
            }
            Stage::Retrying(_) if self.compactions.is_too_long => self.round,
            Stage::Calling(_) | Stage::Ended(_) | Stage::Retrying(_) | Stage::Tools(_) => {
                return None;
            }
        };
        let plan = self.compaction_for(round)?;
        Some((ModelAttempt::compaction(round), plan))
    }

    /// What a compaction in this round would replace; `None` if there can be none.
    pub(crate) fn compaction_for(&self, round: u32) -> Option<CompactionPlan> {
        let done = &self.compactions;
        let may_compact =
            self.setup.compaction.is_some() && !done.has_failed && done.last_round != Some(round);
        if !may_compact {
            return None;
        }
        // The client's view of the conversation follows from the messages of the turn.
        let caller = self.setup.caller.as_ref();
        let keeps_rounds = caller.is_some_and(|caller| caller.view.is_some());
        CompactionPlan::new(&self.messages, keeps_rounds)
    }

    /// The request for the summary of a compaction.
    pub(crate) fn compaction_request(&self, plan: &CompactionPlan) -> ModelRequest {
        let size = self.context_size().max(1);
        let window = self.setup.window_of(self.target);
        // A request that was too long shows that less fits than was sent, whatever window was configured or listed.
        let sent = match &self.stage {
            Stage::Retrying(_) => Some(size.saturating_mul(3) / 5),
            Stage::Calling(_) | Stage::Ended(_) | Stage::Ready | Stage::Tools(_) => None,
        };
        let window = window.map(|window| window.saturating_mul(4) / 5);
        let room = window.into_iter().chain(sent).min().unwrap_or(size);
        let settings = &self.setup.settings;
        let whole = self.setup.whole.is_some();
        plan.request(self.model(), settings, CompactionRoom { room, size }, whole)
    }

    /// The tokens of the next request, by the provider's count as far as there is one.
    fn context_size(&self) -> u64 {
        let Some(counted) = self.counted_before.filter(|_| self.covered_messages == 0) else {
            return self.next_input();
        };
        let since = self.messages.iter().skip(counted.messages);
        let since = since.map(|message| estimate::message(message));
        since.fold(counted.tokens, u64::saturating_add)
    }

    /// What the provider counted for the messages of this turn and those before it, if it did.
    pub(crate) fn counted(&self) -> Option<InputCount> {
        let count = InputCount {
            messages: self.covered_messages,
            tokens: self.last_usage.total(),
        };
        let counted = (count.messages > 0).then_some(count);
        counted.or(self.counted_before)
    }

    /// Sets what the provider counted for the messages before the turn.
    pub(crate) fn count_before(&mut self, opening: &Opening, counted: Option<InputCount>) {
        let before = self.messages.history().len();
        self.counted_before = match opening {
            Opening::UserMessage(_) => counted.filter(|counted| counted.messages <= before),
            Opening::ClientResults(_) | Opening::Transcript(_) => None,
        };
    }

    /// Replaces the beginning of the conversation. A compaction of more messages than there are changes nothing.
    pub(super) fn apply_compaction(&mut self, compaction: &Compaction) {
        self.targets.add_compaction(compaction.attempt);
        self.compactions.last_round = Some(compaction.attempt.round);
        if compaction.failure.is_some() {
            self.compactions.has_failed = true;
            return;
        }
        if compaction.replaced > self.messages.len() {
            return;
        }
        let before = self.messages.history().len();
        let kept_before = before.saturating_sub(compaction.replaced);
        let kept = self.messages.iter().skip(compaction.replaced).cloned();
        let mut history = compaction.messages.clone();
        history.extend(kept.clone().take(kept_before));
        let mut messages = Messages::with_history(Arc::new(history));
        kept.skip(kept_before)
            .for_each(|message| messages.push(message));
        self.messages = messages;
        self.hops.shorten();
        self.covered_messages = 0;
        self.counted_before = None;
        self.tools = Definitions::default();
    }
}

/// Whether a model call ended because its request was too long.
pub(super) const fn is_too_long(why: &ModelCallEnd) -> bool {
    match why {
        ModelCallEnd::Failed(failure) => {
            matches!(failure.kind, ModelFailureKind::ContextTooLong { .. })
        }
        ModelCallEnd::Cancelled | ModelCallEnd::Lost => false,
    }
}
