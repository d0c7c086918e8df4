//! The circuit breaker of a target: a state machine without a clock.
//!
//! Closed, it counts outcomes over a window, and opens when too many of them are failures. Open, it lets nothing
//! through until its cooldown is over, which doubles with each opening in a row. Then it is half open: one request
//! at a time goes through as a trial, whose outcome closes or opens it. Looking at its state changes nothing.

use std::collections::VecDeque;
use std::time::Duration;

use super::fault::Fault;
use crate::failure::{ModelFailure, RetryAdvice};
use crate::time::MonoTime;

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct BreakerRules {
    /// The cooldown after the first opening; each further one in a row doubles it.
    pub cooldown: Duration,
    /// How long a target is out of use that is down.
    pub down: Duration,
    /// The number of outcomes below which it does not open.
    pub least_outcomes: u32,
    /// The longest cooldown, also if a provider asks for a longer one.
    pub longest_cooldown: Duration,
    /// The share of failures at which it opens, in percent.
    pub percent: u32,
    /// How long an outcome counts.
    pub window: Duration,
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self {
            cooldown: Duration::from_secs(5),
            down: Duration::from_secs(30 * 60),
            least_outcomes: 5,
            longest_cooldown: Duration::from_secs(5 * 60),
            percent: 50,
            window: Duration::from_secs(30),
        }
    }
}

/// The breaker of one target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Breaker {
    /// The outcomes of the window, by second, in order.
    counts: VecDeque<SecondCount>,
    /// The latest instant that was passed in.
    latest: MonoTime,
    rules: BreakerRules,
    stage: Stage,
    /// The number of openings since the last success.
    streak: u32,
    /// The number of trials that were given out.
    trials: u64,
}

/// The outcomes of one second.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct SecondCount {
    answered: u32,
    failed: u32,
    second: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Closed,
    /// Open until an instant; half open from then on.
    Open {
        cooldown: Duration,
        /// The number of the trial in flight, if there is one.
        trial: Option<u64>,
        until: MonoTime,
    },
}

/// The state of a breaker at an instant.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum BreakerState {
    /// All requests go through.
    Closed,
    /// One request may go through, as a trial.
    HalfOpen,
    /// None goes through for this long.
    Open(Duration),
    /// None goes through while a trial is in flight.
    Trying,
}

/// How a request went past a breaker; its outcome has to be reported with it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum BreakerPass {
    /// Although the breaker was not closed: as the last target that was left, or for a plain model.
    Exempt,
    /// Through the closed breaker.
    Ordinary,
    /// As the trial of this number.
    Trial(u64),
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub const fn new(rules: BreakerRules) -> Self {
        Self {
            counts: VecDeque::new(),
            latest: MonoTime::from_start(Duration::ZERO),
            rules,
            stage: Stage::Closed,
            streak: 0,
            trials: 0,
        }
    }

    /// Its state. Looking changes nothing, and uses up no trial.
    #[must_use]
    pub fn state(&self, now: MonoTime) -> BreakerState {
        let Stage::Open {
            cooldown,
            trial,
            until,
        } = self.stage
        else {
            return BreakerState::Closed;
        };
        // A clock that was set back must not lengthen the cooldown.
        let left = until.since(now).min(cooldown);
        match trial {
            Some(_) => BreakerState::Trying,
            None if left.is_zero() => BreakerState::HalfOpen,
            None => BreakerState::Open(left),
        }
    }

    /// Reserves the trial, if it is half open and the trial is free. A caller that does not use it gives it back with
    /// [`release`](Self::release).
    pub fn reserve_trial(&mut self, now: MonoTime) -> Option<BreakerPass> {
        self.observe(now);
        if self.state(now) != BreakerState::HalfOpen {
            return None;
        }
        let Stage::Open { trial, .. } = &mut self.stage else {
            return None;
        };
        self.trials += 1;
        *trial = Some(self.trials);
        Some(BreakerPass::Trial(self.trials))
    }

    /// How a request passes that is sent without a trial.
    #[must_use]
    pub fn pass(&self, now: MonoTime) -> BreakerPass {
        match self.state(now) {
            BreakerState::Closed => BreakerPass::Ordinary,
            BreakerState::HalfOpen | BreakerState::Open(_) | BreakerState::Trying => {
                BreakerPass::Exempt
            }
        }
    }

    /// A request ended without a verdict about the target: it was not sent, was cancelled, or is at fault itself.
    pub fn release(&mut self, pass: BreakerPass) {
        if let (Stage::Open { trial, .. }, BreakerPass::Trial(number)) = (&mut self.stage, pass)
            && *trial == Some(number)
        {
            *trial = None;
        }
    }

    /// A request was answered.
    pub fn answered(&mut self, pass: BreakerPass, now: MonoTime) {
        self.observe(now);
        let is_closed = self.stage == Stage::Closed;
        if is_closed {
            self.count(now, false);
            self.streak = 0;
        } else if self.decides(pass) || pass == BreakerPass::Exempt {
            self.close();
        }
    }

    /// A request failed. What its target is not to blame for only gives a trial back.
    pub fn failed(&mut self, pass: BreakerPass, failure: &ModelFailure, now: MonoTime) {
        self.observe(now);
        match Fault::of(failure.kind) {
            Fault::Client | Fault::ContentFilter | Fault::ContextTooLong | Fault::Inability => {
                self.release(pass);
            }
            Fault::Down(_) => self.set_down(now),
            Fault::Transient => self.fail(pass, failure.advice, now),
        }
    }

    /// Takes the target out of use, as one that is down.
    pub fn set_down(&mut self, now: MonoTime) {
        self.observe(now);
        self.open(self.rules.down, now);
    }

    fn fail(&mut self, pass: BreakerPass, advice: RetryAdvice, now: MonoTime) {
        let asked = match advice {
            RetryAdvice::After(wait) => wait.min(self.rules.longest_cooldown),
            RetryAdvice::AtOnce | RetryAdvice::Backoff | RetryAdvice::Never => Duration::ZERO,
        };
        if self.stage == Stage::Closed {
            self.count(now, true);
            if self.is_over_limit() {
                self.trip(asked, now);
            } else if asked >= LEAST_ASKED {
                self.open(asked, now);
            }
        } else if self.decides(pass) {
            self.trip(asked, now);
        }
    }

    /// Whether this pass is the trial that is in flight.
    fn decides(&self, pass: BreakerPass) -> bool {
        match (self.stage, pass) {
            (Stage::Open { trial, .. }, BreakerPass::Trial(number)) => trial == Some(number),
            (_, _) => false,
        }
    }

    fn is_over_limit(&self) -> bool {
        let sum = |count: fn(&SecondCount) -> u32| -> u64 {
            self.counts.iter().map(|one| u64::from(count(one))).sum()
        };
        let (answered, failed) = (sum(|one| one.answered), sum(|one| one.failed));
        let all = answered + failed;
        all >= u64::from(self.rules.least_outcomes)
            && failed * 100 >= all * u64::from(self.rules.percent)
    }

    /// Opens for the next cooldown in a row, or for as long as the provider asks.
    fn trip(&mut self, asked: Duration, now: MonoTime) {
        let doubled = self.rules.cooldown.saturating_mul(1 << self.streak.min(16));
        self.streak = self.streak.saturating_add(1);
        self.open(doubled.min(self.rules.longest_cooldown).max(asked), now);
    }

    fn open(&mut self, cooldown: Duration, now: MonoTime) {
        self.counts.clear();
        // A later failure never shortens what an earlier one asked for.
        let left = match self.state(now) {
            BreakerState::Open(left) => left,
            BreakerState::Closed | BreakerState::HalfOpen | BreakerState::Trying => Duration::ZERO,
        };
        let cooldown = cooldown.max(left);
        self.stage = Stage::Open {
            cooldown,
            trial: None,
            until: now.after(cooldown),
        };
    }

    fn close(&mut self) {
        self.counts.clear();
        self.stage = Stage::Closed;
        self.streak = 0;
    }

    fn count(&mut self, now: MonoTime, is_failure: bool) {
        let second = now.elapsed().as_secs();
        let is_new = self.counts.back().is_none_or(|last| last.second != second);
        if is_new {
            self.counts.push_back(SecondCount {
                answered: 0,
                failed: 0,
                second,
            });
        }
        if let Some(last) = self.counts.back_mut() {
            let count = if is_failure {
                &mut last.failed
            } else {
                &mut last.answered
            };
            *count = count.saturating_add(1);
        }
    }

    /// Forgets outcomes that are older than the window. A clock that was set back makes all of them worthless, and
    /// a cooldown lasts at most its length from now.
    fn observe(&mut self, now: MonoTime) {
        if now < self.latest {
            self.counts.clear();
            if let Stage::Open {
                cooldown, until, ..
            } = &mut self.stage
            {
                *until = (*until).min(now.after(*cooldown));
            }
        }
        self.latest = now;
        let oldest = now.elapsed().saturating_sub(self.rules.window).as_secs();
        while self
            .counts
            .front()
            .is_some_and(|first| first.second < oldest)
        {
            self.counts.pop_front();
        }
    }
}

/// The shortest pause of a provider for which a target is left alone; shorter ones are those of a request.
const LEAST_ASKED: Duration = Duration::from_secs(1);
