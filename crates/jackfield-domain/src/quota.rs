//! Quotas of keys, users and teams, and the meters that say what was taken from them.
//!
//! [`MeterOperation::apply`] is all that decides: a store reads meters, applies an operation, and writes them back.

use std::sync::Arc;
use std::time::Duration;

use crate::time::WallTime;

/// What a key, a user or a team may use; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Quota {
    /// The number of requests at once; at least 1.
    pub parallel: Option<u32>,
    /// The number of requests per minute, which may also come all at once; at least 1.
    pub requests_per_minute: Option<u32>,
}

impl Quota {
    /// Whether it limits nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.parallel.is_none() && self.requests_per_minute.is_none()
    }
}

/// What was taken from the quota of a key, a user or a team.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Meter {
    /// The requests that are being answered.
    pub holds: Vec<MeterHold>,
    /// The theoretical arrival time of the next request (GCRA), in microseconds since 1970-01-01 UTC.
    pub next_request: i64,
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
    /// Ends a request.
    Release {
        /// The id of the request.
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
}

/// The result of an operation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MeterOutcome {
    /// It is done; after [`MeterOperation::Admit`], with what is left of the rates, in the order of the quotas that have
    /// one.
    Done(Vec<RateLeft>),
    /// The request does not fit. No meter was changed.
    Refused(QuotaRefusal),
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
        let (quotas, meters) = match self {
            Self::Admit { quotas, .. } => (&quotas[..], &[][..]),
            Self::Release { meters, .. } | Self::Renew { meters, .. } => (&[][..], &meters[..]),
        };
        quotas.iter().map(|(name, _)| name).chain(meters)
    }

    /// Performs the operation on its meters, in their order. A meter that is missing is the default.
    pub fn apply(&self, meters: &mut [Meter]) -> MeterOutcome {
        match self {
            Self::Admit {
                id,
                now,
                quotas,
                until,
            } => admit(meters, id, *now, quotas, *until),
            Self::Release { id, .. } => {
                for meter in meters {
                    meter.holds.retain(|hold| hold.id != *id);
                }
                MeterOutcome::Done(Vec::new())
            }
            Self::Renew { id, until, .. } => {
                let holds = meters.iter_mut().flat_map(|meter| &mut meter.holds);
                for hold in holds.filter(|hold| hold.id == *id) {
                    hold.until = *until;
                }
                MeterOutcome::Done(Vec::new())
            }
        }
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
const MAX_SKEW: Duration = Duration::from_secs(60);

/// A minute, in microseconds.
const MINUTE: i64 = 60_000_000;

/// After which time a request may try again that came while too many were being answered.
const PARALLEL_RETRY: Duration = Duration::from_secs(1);
