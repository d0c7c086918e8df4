//! Which targets of a route are left while one round, or one request, goes from one to the next.

use std::collections::BTreeSet;

use super::fault::{Fault, FaultScope};
use crate::failure::{ModelFailure, ModelFailureKind, RetryAdvice};
use crate::request::ModelRef;

/// What matters of a target for whether it is left.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct HopTarget {
    /// The index of the first target of the same provider: they have the same key and account.
    pub account: u32,
    /// Whether it is called only after a content filter refused the request elsewhere.
    pub content_filter: bool,
    /// Its context window, in tokens, if it is known.
    pub window: Option<u64>,
}

impl HopTarget {
    /// The account of the target with this index, where these are the models of all targets.
    #[must_use]
    pub fn account_of<'m>(index: u32, models: impl Iterator<Item = &'m ModelRef> + Clone) -> u32 {
        let own = models.clone().zip(0..).find(|(_, at)| *at == index);
        let same = |model: &ModelRef| own.is_some_and(|(own, _)| own.provider == model.provider);
        let mut all = models.zip(0..);
        all.find(|(model, _)| same(model))
            .map_or(index, |(_, at)| at)
    }
}

/// The targets that are out, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hops {
    /// Those that failed since the last pause.
    failed: BTreeSet<u32>,
    /// Those that would fail again in this round.
    failed_for_good: BTreeSet<u32>,
    /// Whether a content filter refused the request: only targets for that are left from then on.
    is_filtered: bool,
    /// The smallest context window that may be large enough.
    least_window: u64,
    /// The number of pauses of this round.
    pauses: u32,
    /// Those that wrote an unusable reply in this round.
    unusable: BTreeSet<u32>,
    /// Whether the last target was called although its breaker was not closed: after it, none is left.
    was_last_left: bool,
}

impl Hops {
    /// A target is called. `is_last_left` says whether as the last one that was left, if the route decided that.
    pub fn call(&mut self, target: u32, is_last_left: Option<bool>) {
        // It may be called again at once.
        self.failed.remove(&target);
        self.failed_for_good.remove(&target);
        if let Some(is_last_left) = is_last_left {
            self.was_last_left = is_last_left;
        }
    }

    /// One of these targets failed.
    pub fn fail(&mut self, target: u32, failure: &ModelFailure, targets: &[HopTarget]) {
        let failed = usize::try_from(target).ok().and_then(|at| targets.get(at));
        if failure.kind == ModelFailureKind::ContentFilter {
            self.is_filtered = true;
            // None of the others was passed over.
            self.was_last_left = false;
        }
        if let ModelFailureKind::ContextTooLong { limit, requested } = failure.kind {
            let window = failed.and_then(|failed| failed.window);
            let limit = limit.or(window).unwrap_or(0);
            let larger = limit.saturating_add(u64::from(limit > 0));
            self.least_window = self.least_window.max(larger).max(requested.unwrap_or(0));
            // One that was passed over may be the only one that is large enough.
            self.was_last_left = false;
        }
        self.failed.insert(target);
        // A model that wrote two unusable replies in a row would write a third.
        let is_first_unusable = failure.kind == ModelFailureKind::UnusableReply
            && failure.advice != RetryAdvice::Never
            && self.unusable.insert(target);
        if !Fault::may_pass(failure) && !is_first_unusable {
            self.failed_for_good.insert(target);
        }
        if let (Fault::Down(FaultScope::Account), Some(failed)) = (Fault::of(failure.kind), failed)
        {
            let of_account = (0..)
                .zip(targets)
                .filter(|(_, other)| other.account == failed.account);
            self.failed_for_good
                .extend(of_account.map(|(other, _)| other));
        }
    }

    /// The round goes on after a pause, with the targets that may answer by then.
    pub fn pause(&mut self) {
        self.pauses += 1;
        self.failed.clear();
        self.was_last_left = false;
    }

    /// A target answered: the next round may call all of them.
    pub fn end_round(&mut self) {
        *self = Self {
            is_filtered: self.is_filtered,
            least_window: self.least_window,
            ..Self::default()
        };
    }

    /// The conversation became shorter.
    pub fn shorten(&mut self) {
        self.least_window = 0;
        self.failed.clear();
        self.failed_for_good.clear();
        self.was_last_left = false;
    }

    /// Of these targets, those that may be called without a pause, in their order.
    #[must_use]
    pub fn left(&self, targets: &[HopTarget]) -> BTreeSet<u32> {
        if self.was_last_left {
            return BTreeSet::new();
        }
        let left = self.left_after_pause(targets);
        left.difference(&self.failed).copied().collect()
    }

    /// Of these targets, those that may be called after a pause, in their order.
    #[must_use]
    pub fn left_after_pause(&self, targets: &[HopTarget]) -> BTreeSet<u32> {
        let is_left = |(index, target): (u32, &HopTarget)| {
            let is_large = target
                .window
                .is_none_or(|window| window >= self.least_window);
            let is_left = target.content_filter == self.is_filtered
                && is_large
                && !self.failed_for_good.contains(&index);
            is_left.then_some(index)
        };
        (0..).zip(targets).filter_map(is_left).collect()
    }

    /// The number of pauses of this round.
    #[must_use]
    pub const fn pauses(&self) -> u32 {
        self.pauses
    }
}
