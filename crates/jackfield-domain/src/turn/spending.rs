//! What a turn has used, and what its next request will take at least.

use crate::estimate;
use crate::fact::Fact;
use crate::ids::ModelAttempt;
use crate::price::Cost;
use crate::turn::Turn;
use crate::usage::Usage;

impl Turn {
    /// What its model calls used, all together; what nobody counted is in it as an estimate.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut all = Usage::default();
        self.used.values().for_each(|used| all += *used);
        all
    }

    /// What that costs, if the model has a price.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        let price = self.setup.price.as_ref()?;
        Some(price.bill(&self.usage()))
    }

    /// Counts what a model call used, once. A count takes the place of an estimate, never the reverse.
    pub(super) fn count(&mut self, attempt: ModelAttempt, usage: Usage) {
        let used = self.used.entry(attempt).or_insert(usage);
        *used = used.settled(usage);
    }

    /// Whether the provider's own count of a model call is known.
    pub(crate) fn is_counted(&self, attempt: ModelAttempt) -> bool {
        self.used
            .get(&attempt)
            .is_some_and(|used| used.estimated() == 0)
    }

    /// An estimate of the input of the request that comes next, or that is under way: what the last
    /// reply and its request took, and what came to the conversation since.
    pub(crate) fn next_input(&self) -> u64 {
        // What the last request had is not looked at again, not even to be passed over.
        let all = self.messages.iter().skip(self.weighed);
        let all = all.map(|message| estimate::message(message));
        if self.weighed > 0 {
            return all.fold(self.last_usage.total(), u64::saturating_add);
        }
        let tools = self.tools().iter().map(|tool| &**tool);
        let preamble = estimate::preamble(&self.setup.system, tools);
        all.fold(preamble, u64::saturating_add)
    }

    /// What this fact says that a model call used.
    pub(super) fn apply_usage(&mut self, fact: &Fact) {
        if let Some((attempt, usage)) = fact.usage() {
            self.count(attempt, usage);
        }
        if let Fact::ReplyReceived { reply, .. } = fact
            && let Some(usage) = reply.end.usage
        {
            self.last_usage = usage;
            // The reply itself is the next message, once its calls have their outcomes.
            self.weighed = self.messages.len() + 1;
        }
    }
}
