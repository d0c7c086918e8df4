//! Quotas of keys, users and teams, and the meters that say what was taken from them.
//!
//! [`MeterOperation::apply`] is all that decides: a store reads meters, applies an operation, and writes them back.

mod budget;

use std::sync::Arc;
use std::time::Duration;

pub use self::budget::{
    Amount, BudgetPeriod, BudgetState, BudgetUnit, MeterReservation, PeriodTotal,
};
use crate::price::Money;
use crate::time::WallTime;

/// What a key, a user or a team may use; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Quota {
    /// What its model calls may cost per day, in US dollars.
    pub cost_per_day: Option<Money>,
    /// What its model calls may cost per month, in US dollars.
    pub cost_per_month: Option<Money>,
    /// The number of requests at once; at least 1.
    pub parallel: Option<u32>,
    /// The number of requests per minute, which may also come all at once; at least 1.
    pub requests_per_minute: Option<u32>,
    /// How many tokens its model calls may use per day, input and output.
    pub tokens_per_day: Option<u64>,
    /// How many tokens its model calls may use per minute, input and output; at least 1.
    pub tokens_per_minute: Option<u64>,
    /// How many tokens its model calls may use per month, input and output.
    pub tokens_per_month: Option<u64>,
    /// Whether a model without a price may be called although it limits money, which such calls do not count for.
    pub unpriced: bool,
}

impl Quota {
    /// Whether it limits nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.limits_requests() && !self.has_budget()
    }

    /// Whether it limits requests.
    #[must_use]
    pub const fn limits_requests(&self) -> bool {
        self.parallel.is_some() || self.requests_per_minute.is_some()
    }
}

/// What changes of a quota. `None` leaves a limit as it is, the inner `None` takes it away.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QuotaChange {
    /// See [`Quota::cost_per_day`].
    pub cost_per_day: Option<Option<Money>>,
    /// See [`Quota::cost_per_month`].
    pub cost_per_month: Option<Option<Money>>,
    /// See [`Quota::parallel`].
    pub parallel: Option<Option<u32>>,
    /// See [`Quota::requests_per_minute`].
    pub requests_per_minute: Option<Option<u32>>,
    /// See [`Quota::tokens_per_day`].
    pub tokens_per_day: Option<Option<u64>>,
    /// See [`Quota::tokens_per_minute`].
    pub tokens_per_minute: Option<Option<u64>>,
    /// See [`Quota::tokens_per_month`].
    pub tokens_per_month: Option<Option<u64>>,
    /// See [`Quota::unpriced`].
    pub unpriced: Option<bool>,
}

impl QuotaChange {
    /// Takes all limits away.
    pub const REMOVE_ALL: Self = Self {
        cost_per_day: Some(None),
        cost_per_month: Some(None),
        parallel: Some(None),
        requests_per_minute: Some(None),
        tokens_per_day: Some(None),
        tokens_per_minute: Some(None),
        tokens_per_month: Some(None),
        unpriced: Some(false),
    };

    /// The quota after this change; `None` if it limits nothing.
    #[must_use]
    pub fn apply(&self, quota: Option<Quota>) -> Option<Quota> {
        let before = quota.unwrap_or_default();
        let after = Quota {
            cost_per_day: self.cost_per_day.unwrap_or(before.cost_per_day),
            cost_per_month: self.cost_per_month.unwrap_or(before.cost_per_month),
            parallel: self.parallel.unwrap_or(before.parallel),
            requests_per_minute: self
                .requests_per_minute
                .unwrap_or(before.requests_per_minute),
            tokens_per_day: self.tokens_per_day.unwrap_or(before.tokens_per_day),
            tokens_per_minute: self.tokens_per_minute.unwrap_or(before.tokens_per_minute),
            tokens_per_month: self.tokens_per_month.unwrap_or(before.tokens_per_month),
            unpriced: self.unpriced.unwrap_or(before.unpriced),
        };
        Some(after).filter(|after| !after.is_empty())
    }
}

impl From<Quota> for QuotaChange {
    /// Sets the limits of this quota, and leaves the others as they are.
    fn from(quota: Quota) -> Self {
        Self {
            cost_per_day: quota.cost_per_day.map(Some),
            cost_per_month: quota.cost_per_month.map(Some),
            parallel: quota.parallel.map(Some),
            requests_per_minute: quota.requests_per_minute.map(Some),
            tokens_per_day: quota.tokens_per_day.map(Some),
            tokens_per_minute: quota.tokens_per_minute.map(Some),
            tokens_per_month: quota.tokens_per_month.map(Some),
            unpriced: quota.unpriced.then_some(true),
        }
    }
}

/// What was taken from the quota of a key, a user or a team.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Meter {
    /// What was spent in the newest day; `None` before there is one.
    pub day: Option<PeriodTotal>,
    /// The requests that are being answered.
    pub holds: Vec<MeterHold>,
    /// What was spent in the newest minute; `None` before there is one.
    pub minute: Option<PeriodTotal>,
    /// What was spent in the newest minute before that one.
    pub minute_before: Option<PeriodTotal>,
    /// What was spent in the newest month; `None` before there is one.
    pub month: Option<PeriodTotal>,
    /// The theoretical arrival time of the next request (GCRA), in microseconds since 1970-01-01 UTC.
    pub next_request: i64,
    /// What model calls in flight have reserved of its budgets.
    pub reservations: Vec<MeterReservation>,
}

/// A request that is being answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MeterHold {
    /// Its id.
    pub id: Arc<str>,
    /// When it ends by itself, unless it is renewed.
    pub until: WallTime,
}

/// An operation on meters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MeterOperation {
    /// Takes a request from all of these meters, or from none.
    Admit {
        /// The id of the request.
        id: Arc<str>,
        /// When it came.
        now: WallTime,
        /// The names of the meters, each once, with their quotas.
        quotas: Vec<(Arc<str>, Quota)>,
        /// When the request is over by itself, unless it is renewed.
        until: WallTime,
    },
    /// Sets the totals of a meter, unless they are not those any more that were seen.
    Correct {
        /// The name of the meter.
        meter: Arc<str>,
        /// The totals of the newest day and month, as they were seen.
        seen: [Option<PeriodTotal>; 2],
        /// The totals as they should be.
        totals: [Option<PeriodTotal>; 2],
    },
    /// Reads meters.
    Look {
        /// Their names.
        meters: Vec<Arc<str>>,
    },
    /// Ends a request, or a model call that used nothing.
    Release {
        /// The id of the request or the call.
        id: Arc<str>,
        /// The names of its meters.
        meters: Vec<Arc<str>>,
    },
    /// Moves the end of a request that is still being answered.
    Renew {
        /// The id of the request.
        id: Arc<str>,
        /// The names of its meters.
        meters: Vec<Arc<str>>,
        /// When it is over by itself.
        until: WallTime,
    },
    /// Reserves what a model call may use of the budgets of all of these meters, or of none.
    Reserve {
        /// What the call may use.
        amount: Amount,
        /// When it begins.
        at: WallTime,
        /// The id of the call, which is that of its spending record.
        id: Arc<str>,
        /// The names of the meters, each once, with their quotas.
        quotas: Vec<(Arc<str>, Quota)>,
    },
    /// Adds what a model call used; its reservations end. See [`settling`](Self::settling).
    Settle {
        /// When the call began.
        at: WallTime,
        /// The id of the call.
        id: Arc<str>,
        /// What an estimate of the call had added, which is taken back.
        replaced: Vec<(Arc<str>, Amount)>,
        /// The names of the meters, each once, with the amounts.
        settled: Vec<(Arc<str>, Amount)>,
    },
}

/// The result of an operation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MeterOutcome {
    /// It is done; after [`MeterOperation::Admit`], with what is left of the rates, in the order of the quotas that have
    /// one.
    Done(Vec<RateLeft>),
    /// The call does not fit this budget. No meter was changed.
    Exhausted(Box<BudgetState>),
    /// The request does not fit. No meter was changed.
    Refused(QuotaRefusal),
    /// The meters, after [`MeterOperation::Look`]; after [`MeterOperation::Correct`], the meter as it was before.
    Seen(Vec<Meter>),
}

/// What is left of a rate of requests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RateLeft {
    /// The number of requests that may come now.
    pub left: u32,
    /// The number of requests per minute.
    pub limit: u32,
    /// The time until all of them may come at once.
    pub reset: Duration,
}

/// A quota that a request does not fit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QuotaRefusal {
    /// Which limit of it.
    pub limit: QuotaLimit,
    /// The name of its meter.
    pub meter: Arc<str>,
    /// When the request may come again. For requests at once this is a guess.
    pub retry_after: Duration,
}

/// A limit of a quota.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum QuotaLimit {
    /// So many requests at once.
    Parallel(u32),
    /// So many requests per minute.
    Requests(RateLeft),
}

impl MeterOperation {
    /// The names of the meters, in the order in which [`apply`](Self::apply) takes them.
    pub fn meters(&self) -> impl Iterator<Item = &Arc<str>> {
        let none = (&[][..], &[][..], &[][..]);
        let (quotas, settled, meters) = match self {
            Self::Admit { quotas, .. } | Self::Reserve { quotas, .. } => {
                (&quotas[..], none.1, none.2)
            }
            Self::Correct { meter, .. } => (none.0, none.1, std::slice::from_ref(meter)),
            Self::Look { meters } | Self::Release { meters, .. } | Self::Renew { meters, .. } => {
                (none.0, none.1, &meters[..])
            }
            Self::Settle { settled, .. } => (none.0, &settled[..], none.2),
        };
        let quotas = quotas.iter().map(|(name, _)| name);
        quotas
            .chain(settled.iter().map(|(name, _)| name))
            .chain(meters)
    }

    /// Performs the operation on its meters, in their order. A meter that is missing is the default.
    pub fn apply(&self, meters: &mut [Meter]) -> MeterOutcome {
        match self {
            Self::Admit {
                id,
                now,
                quotas,
                until,
            } => return admit(meters, id, *now, quotas, *until),
            Self::Correct { seen, totals, .. } => {
                let before = meters.to_vec();
                for meter in meters
                    .iter_mut()
                    .filter(|meter| [meter.day, meter.month] == *seen)
                {
                    [meter.day, meter.month] = *totals;
                }
                return MeterOutcome::Seen(before);
            }
            Self::Look { .. } => return MeterOutcome::Seen(meters.to_vec()),
            Self::Release { id, .. } => {
                for meter in meters {
                    meter.holds.retain(|hold| hold.id != *id);
                    meter.reservations.retain(|call| call.id != *id);
                }
            }
            Self::Renew { id, until, .. } => {
                let holds = meters.iter_mut().flat_map(|meter| &mut meter.holds);
                for hold in holds.filter(|hold| hold.id == *id) {
                    hold.until = *until;
                }
            }
            Self::Reserve {
                amount,
                at,
                id,
                quotas,
            } => {
                if let Err(full) = budget::reserve(meters, id, *at, *amount, quotas) {
                    return MeterOutcome::Exhausted(Box::new(full));
                }
            }
            Self::Settle {
                at,
                id,
                replaced,
                settled,
            } => {
                for (meter, (name, amount)) in meters.iter_mut().zip(settled) {
                    if let Some((_, before)) = replaced.iter().find(|(known, _)| known == name) {
                        // A rate has counted the estimate in its minute, which may be over.
                        meter.correct(*at, *before, *amount);
                        continue;
                    }
                    let reserved = meter.reservations.iter().find(|call| call.id == *id);
                    // A rate counts what is used when it is used: a turn may have begun the call, and waited before it.
                    // What was never reserved, such as a batch, was used over hours.
                    let used = reserved.map(|call| call.at);
                    meter.reservations.retain(|call| call.id != *id);
                    meter.spend(*at, *amount);
                    if let Some(used) = used {
                        meter.spend_in_minute(used, *amount);
                    }
                }
            }
        }
        MeterOutcome::Done(Vec::new())
    }
}

fn admit(
    meters: &mut [Meter],
    id: &Arc<str>,
    now: WallTime,
    quotas: &[(Arc<str>, Quota)],
    until: WallTime,
) -> MeterOutcome {
    let at = now.as_millis().saturating_mul(1000);
    let is_admitted = |meter: &Meter| meter.holds.iter().any(|hold| hold.id == *id);
    let mut left = Vec::new();
    let mut taken = Vec::new();
    for (meter, (name, quota)) in meters.iter().zip(quotas) {
        let refused = |limit, retry_after| {
            MeterOutcome::Refused(QuotaRefusal {
                limit,
                meter: Arc::clone(name),
                retry_after,
            })
        };
        // What is further ahead than any request could have put it was written with a wrong clock.
        let open = meter.holds.iter();
        let open = open.filter(|hold| hold.until > now && hold.until <= until.after(MAX_SKEW));
        let mut next = meter.next_request;
        let skew = i64::try_from(MAX_SKEW.as_micros()).unwrap_or(i64::MAX);
        if let Some(limit) = quota.requests_per_minute
            && next.saturating_sub(at) > burst(limit).saturating_add(skew)
        {
            next = at;
        }
        // An operation that is repeated after a lost answer takes nothing more.
        if !is_admitted(meter) {
            if let Some(limit) = quota.parallel
                && open.clone().count() >= usize::try_from(limit).unwrap_or(usize::MAX)
            {
                return refused(QuotaLimit::Parallel(limit), PARALLEL_RETRY);
            }
            if let Some(limit) = quota.requests_per_minute {
                let each = interval(limit);
                let then = next.max(at).saturating_add(each);
                if then.saturating_sub(at) > burst(limit) {
                    let wait = micros(then - at - burst(limit));
                    let rate = rate_left(next, at, limit);
                    return refused(QuotaLimit::Requests(rate), wait);
                }
                next = then;
            }
        }
        if let Some(limit) = quota.requests_per_minute {
            left.push(rate_left(next, at, limit));
        }
        let mut holds: Vec<MeterHold> = open.filter(|hold| hold.id != *id).cloned().collect();
        // Without a limit of requests at once, nothing has to be held.
        if quota.parallel.is_some() {
            holds.push(MeterHold {
                id: Arc::clone(id),
                until,
            });
        }
        taken.push(Meter {
            holds,
            next_request: next,
            ..meter.clone()
        });
    }
    for (meter, taken) in meters.iter_mut().zip(taken) {
        *meter = taken;
    }
    MeterOutcome::Done(left)
}

/// What is left of a rate at a time.
fn rate_left(next: i64, at: i64, limit: u32) -> RateLeft {
    let ahead = next.saturating_sub(at).max(0);
    let left = (burst(limit) - ahead).max(0) / interval(limit);
    RateLeft {
        left: u32::try_from(left).unwrap_or(limit).min(limit),
        limit,
        reset: micros(ahead),
    }
}

/// The time of one request at a rate, in microseconds, rounded up so that no more than the limit fit a minute.
fn interval(limit: u32) -> i64 {
    let limit = i64::from(limit.max(1));
    (MINUTE + limit - 1) / limit
}

/// The time of as many requests as may come at once, in microseconds: a minute, rounded up.
fn burst(limit: u32) -> i64 {
    interval(limit).saturating_mul(i64::from(limit.max(1)))
}

fn micros(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// How far apart the clocks of gateways may be.
pub const MAX_SKEW: Duration = Duration::from_secs(60);

/// A minute, in microseconds.
const MINUTE: i64 = 60_000_000;

/// After which time a request may try again that came while too many were being answered.
const PARALLEL_RETRY: Duration = Duration::from_secs(1);
