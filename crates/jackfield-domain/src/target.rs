//! Targets: the models that a turn may call, and why an attempt called one of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::ids::ModelAttempt;
use crate::price::{Money, Price};
use crate::request::ModelRef;
use crate::time::WallTime;

/// A model that a turn may call, with its price when the turn began.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// Whether it is called only after a content filter refused the request elsewhere.
    pub content_filter: bool,
    /// The time limit to the first piece of its reply, if it has one.
    pub first_byte: Option<Duration>,
    /// The model.
    pub model: ModelRef,
    /// Its price; `None` if unknown.
    pub price: Option<Price>,
    /// Its context window, in tokens, if it is needed and known.
    pub window: Option<u64>,
}

/// The target of each model call of a turn.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AttemptTargets {
    /// Those that were not sent to the first target.
    later: BTreeMap<ModelAttempt, u32>,
    /// The target of the last attempt.
    last: u32,
}

impl AttemptTargets {
    /// Adds the index of the target that an attempt was sent to.
    pub fn add(&mut self, attempt: ModelAttempt, target: u32) {
        self.last = target;
        if target > 0 {
            self.later.insert(attempt, target);
        }
    }

    /// Adds the attempt at a summary, which is sent to the target of the last attempt.
    pub fn add_compaction(&mut self, attempt: ModelAttempt) {
        self.add(attempt, self.last);
    }

    /// The index of the target that the last attempt was sent to; the first target's before there is one.
    #[must_use]
    pub const fn last(&self) -> u32 {
        self.last
    }

    /// The index of the target that an attempt was sent to.
    #[must_use]
    pub fn get(&self, attempt: ModelAttempt) -> u32 {
        self.later.get(&attempt).copied().unwrap_or(0)
    }
}

/// Why an attempt called its target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TargetChoice {
    /// The circuit breakers that were not closed when the choice was made.
    pub breakers: Vec<BreakerSnapshot>,
    /// The reason.
    pub reason: TargetReason,
}

/// The reason for the choice of a target.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum TargetReason {
    /// An earlier request of the same conversation used it.
    Affinity,
    /// The content filter of the target before it refused the request.
    ContentFilter,
    /// The request is too long for the target before it.
    ContextTooLong,
    /// The target before it failed, or its breaker is not closed.
    Fallback,
    /// No other target is left, or the others may be tried later than this one.
    LastLeft,
    /// The strategy of the route chose it.
    Strategy,
}

crate::named! { TargetReason:
    Affinity = "affinity", ContentFilter = "content_filter", ContextTooLong = "context_too_long",
    Fallback = "fallback", LastLeft = "last_left", Strategy = "strategy",
}

/// The state of a target's circuit breaker that is not closed, at the time of a choice.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct BreakerSnapshot {
    /// When the target may be tried again: now, if this request may be its trial. `None` while a trial request is in
    /// flight.
    pub retry_at: Option<WallTime>,
    /// The index of the target in the turn's targets.
    pub target: u32,
}

impl BreakerSnapshot {
    /// Whether the target must not be called at this time, as long as there is another one.
    #[must_use]
    pub fn blocks(&self, now: WallTime) -> bool {
        self.retry_at.is_none_or(|retry_at| retry_at > now)
    }
}

/// What a model attempt reserved of a budget before it began, or what it used of it in the end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reservation {
    /// The name of the budget.
    pub budget: Arc<str>,
    /// The amount of money, if the budget limits it.
    pub cost: Option<Money>,
    /// The number of tokens, if the budget limits them.
    pub tokens: Option<u64>,
}
