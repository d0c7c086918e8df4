//! The usage of a turn, and the minimum usage of its next request.

use crate::estimate;
use crate::fact::Fact;
use crate::ids::ModelAttempt;
use crate::price::{Cost, Money};
use crate::turn::Turn;
use crate::usage::Usage;

impl Turn {
    /// The total usage of its model calls, including estimates.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut all = Usage::default();
        self.usage_by_call.values().for_each(|used| all += *used);
        all
    }

    /// The cost of that usage, if the called models have prices in one currency.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        self.setup.bill(&self.targets, &self.usage_by_call)
    }

    /// What that usage counts for the budget of money, if the called models have prices in one currency.
    pub(crate) fn counted_cost(&self) -> Option<Money> {
        let counted = self.setup.counted(&self.targets, &self.usage_by_call);
        let nothing = self.setup.allowance.unpriced.then_some(Money::ZERO);
        counted.map(|cost| cost.amount).or(nothing)
    }

    /// The index of the target that a model call was sent to.
    #[must_use]
    pub fn target_of(&self, attempt: ModelAttempt) -> u32 {
        self.targets.get(attempt)
    }

    /// Adds the usage of a model call once. A count replaces an estimate, never the reverse.
    pub(super) fn record_usage(&mut self, attempt: ModelAttempt, usage: Usage) {
        let used = self.usage_by_call.entry(attempt).or_insert(usage);
        *used = used.merge(usage);
    }

    /// Whether the provider's count of a model call is known.
    pub(crate) fn has_reported_usage(&self, attempt: ModelAttempt) -> bool {
        self.usage_by_call
            .get(&attempt)
            .is_some_and(|used| used.estimated() == 0)
    }

    /// An estimate of the input of the next request, or of the one in flight: the usage of the last request and
    /// its reply, plus the messages since.
    pub(crate) fn next_input(&self) -> u64 {
        // Messages that the last request covered are skipped without being visited.
        let all = self.messages.iter().skip(self.covered_messages);
        let all = all.map(|message| estimate::message(message));
        if self.covered_messages > 0 {
            return all.fold(self.last_usage.total(), u64::saturating_add);
        }
        let tools = self.tools().iter().map(|tool| &**tool);
        let preamble = estimate::preamble(&self.setup.system, tools);
        all.fold(preamble, u64::saturating_add)
    }

    /// Applies the usage that this fact reports.
    pub(super) fn apply_usage(&mut self, fact: &Fact) {
        if let Some((attempt, usage)) = fact.usage() {
            self.record_usage(attempt, usage);
        }
        if let Fact::ReplyReceived { reply, .. } = fact
            // A reply without a request to a model says nothing about the conversation.
            && let Some(usage) = reply.end.usage.filter(|usage| usage.total() > 0)
        {
            self.last_usage = usage;
            // The reply itself becomes the next message, once its calls have outcomes.
            self.covered_messages = self.messages.len() + 1;
        }
    }
}
