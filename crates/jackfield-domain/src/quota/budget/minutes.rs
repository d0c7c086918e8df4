//! The tokens of a minute that moves, from the totals of two minutes of the clock.

use std::time::Duration;

use super::{Amount, BudgetPeriod, PeriodTotal, add};
use crate::quota::{MAX_SKEW, Meter};
use crate::time::WallTime;

impl Meter {
    /// The tokens that were spent in the minute before a time, and when there is room again if they reach the limit.
    pub(super) fn tokens_of_minute(&self, limit: u64, now: WallTime) -> (u64, WallTime) {
        let number = BudgetPeriod::Minute.of(now);
        let latest = BudgetPeriod::Minute.of(now.after(MAX_SKEW));
        let tokens = |first: i64, last: i64| {
            let totals = [self.minute, self.minute_before].into_iter().flatten();
            let within = totals.filter(|total| (first..=last).contains(&total.period));
            within.fold(0_u64, |sum, total| sum.saturating_add(total.spent.tokens))
        };
        // A later minute was counted by a clock that is ahead.
        let (present, before) = (tokens(number, latest), tokens(number - 1, number - 1));
        let begin = WallTime::at_utc_minute(number);
        let passed = u64::try_from(now.since(begin).as_millis()).unwrap_or(MINUTE);
        let left = MINUTE.saturating_sub(passed);
        let spent = present.saturating_add(share(before, left, MINUTE));
        let end = BudgetPeriod::Minute.end(now);
        if spent < limit {
            return (spent, end);
        }
        // The total that has to become less, what of it has room, and when it begins to become less.
        let (total, room, from) = if present < limit {
            (before, limit - present, begin)
        } else {
            (present, limit, end)
        };
        let left = share(MINUTE, room, total).min(MINUTE);
        let passed = (MINUTE - left + 1).min(MINUTE);
        (spent, from.after(Duration::from_millis(passed)))
    }

    /// Adds what was spent at a time to its minute. What belongs to a minute before the two newest is in the records alone.
    pub fn spend_in_minute(&mut self, at: WallTime, amount: Amount) {
        let number = BudgetPeriod::Minute.of(at);
        match self.minute {
            Some(newest) if newest.period > number => {
                add(&mut self.minute_before, number, amount);
            }
            newest => {
                if newest.is_some_and(|newest| newest.period < number) {
                    self.minute_before = newest;
                }
                add(&mut self.minute, number, amount);
            }
        }
    }

    /// Drops the totals of minutes after this time.
    pub(super) fn forget_minutes_ahead(&mut self, latest: WallTime) {
        let latest = BudgetPeriod::Minute.of(latest);
        let is_ahead = |total: &mut PeriodTotal| total.period > latest;
        self.minute_before.take_if(is_ahead);
        if self.minute.take_if(is_ahead).is_some() {
            self.minute = self.minute_before.take();
        }
    }
}

/// `amount` times `part` by `whole`, rounded down.
fn share(amount: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(amount) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// A minute, in milliseconds.
const MINUTE: u64 = 60_000;
