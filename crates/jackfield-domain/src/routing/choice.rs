//! The choice of the target that an attempt calls.

use std::collections::BTreeSet;

use crate::target::BreakerSnapshot;
use crate::time::WallTime;

/// What a choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceInput<'a> {
    /// The breakers that are not closed.
    pub breakers: &'a [BreakerSnapshot],
    /// The targets that are left, in their order.
    pub left: &'a BTreeSet<u32>,
    /// The present time, on the clock of the breakers' instants.
    pub now: WallTime,
    /// The target that is taken if it is not blocked, such as the one of an earlier request.
    pub preferred: Option<u32>,
}

/// A chosen target.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Chosen {
    /// The first in the order that is not blocked.
    First(u32),
    /// All that are left are blocked, and this one may be tried first.
    LastLeft(u32),
    /// The preferred one.
    Preferred(u32),
}

impl Chosen {
    /// The target.
    #[must_use]
    pub const fn target(self) -> u32 {
        match self {
            Self::First(target) | Self::LastLeft(target) | Self::Preferred(target) => target,
        }
    }
}

/// Chooses a target; `None` only if none is left.
#[must_use]
pub fn choose(input: &ChoiceInput<'_>) -> Option<Chosen> {
    let is_blocked = |target: u32| {
        let mut breakers = input.breakers.iter();
        breakers.any(|breaker| breaker.target == target && breaker.blocks(input.now))
    };
    let preferred = input
        .preferred
        .filter(|preferred| input.left.contains(preferred));
    if let Some(preferred) = preferred.filter(|preferred| !is_blocked(*preferred)) {
        return Some(Chosen::Preferred(preferred));
    }
    let mut left = input.left.iter().copied();
    if let Some(first) = left.find(|target| !is_blocked(*target)) {
        return Some(Chosen::First(first));
    }
    // A trial in flight has no instant; it comes after those that have one.
    let instant = |target: &u32| {
        let mut breakers = input.breakers.iter();
        let breaker = breakers.find(|breaker| breaker.target == *target);
        let retry_at = breaker.and_then(|breaker| breaker.retry_at);
        (retry_at.is_none(), retry_at)
    };
    let soonest = input.left.iter().copied().min_by_key(instant);
    soonest.map(Chosen::LastLeft)
}
