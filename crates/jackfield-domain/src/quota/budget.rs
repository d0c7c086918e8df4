//! Budgets: what may be spent in a minute, a day and a month, what was spent, and what calls in flight have reserved.
//!
//! The spending records are the truth; the totals of a meter are their sums for the newest day and month. Those of the
//! minutes count a call when it was reserved, which no record has.

mod minutes;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{MAX_SKEW, Meter, MeterOperation, Quota};
use crate::price::Money;
use crate::spending_record::SpendingRecord;
use crate::target::Reservation;
use crate::time::WallTime;

/// An amount of money and of tokens.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Amount {
    /// The money, in US dollars.
    pub cost: Money,
    /// The tokens, input and output.
    pub tokens: u64,
}

/// A total of a minute, a day or a month, in UTC.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PeriodTotal {
    /// The number of the minute, the day or the month since 1970.
    pub period: i64,
    /// What was spent in it.
    pub spent: Amount,
}

/// What a model call in flight may use at most.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MeterReservation {
    /// The amount.
    pub amount: Amount,
    /// When it was reserved.
    pub at: WallTime,
    /// The id of the call, which is that of its spending record.
    pub id: Arc<str>,
}

/// A period of a budget, in UTC.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum BudgetPeriod {
    /// A day.
    Day,
    /// A minute that moves: what was spent in the present minute of the clock, and the part of the one before that is
    /// less than a minute ago, as if it had been spent evenly.
    Minute,
    /// A month of the calendar.
    Month,
}

crate::named! { BudgetPeriod: Day = "day", Minute = "minute", Month = "month" }

/// What a budget counts.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum BudgetUnit {
    /// Money, in trillionths of a US dollar.
    Cost,
    /// Tokens.
    Tokens,
}

/// A budget, and what is used of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BudgetState {
    /// When its period ends; for a minute that is used up, when it has room again.
    pub ends: WallTime,
    /// How much may be used, in its unit.
    pub limit: u64,
    /// The name of its meter: `key:ID`, `user:NAME` or `team:NAME`.
    pub meter: Arc<str>,
    /// The period.
    pub period: BudgetPeriod,
    /// What calls in flight have reserved.
    pub reserved: u64,
    /// What was spent in the period.
    pub spent: u64,
    /// What it counts.
    pub unit: BudgetUnit,
}

impl Amount {
    /// What a record spent of a budget.
    #[must_use]
    pub fn of(settled: &Reservation) -> Self {
        Self {
            cost: settled.cost.unwrap_or_default(),
            tokens: settled.tokens.unwrap_or_default(),
        }
    }

    /// The sum; saturates.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            cost: self.cost + more.cost,
            tokens: self.tokens.saturating_add(more.tokens),
        }
    }

    /// What is left without this amount; at least nothing.
    fn minus(self, less: Self) -> Self {
        let cost = self.cost.as_picos().saturating_sub(less.cost.as_picos());
        Self {
            cost: Money::from_picos(cost),
            tokens: self.tokens.saturating_sub(less.tokens),
        }
    }

    const fn in_unit(self, unit: BudgetUnit) -> u64 {
        match unit {
            BudgetUnit::Cost => self.cost.as_picos(),
            BudgetUnit::Tokens => self.tokens,
        }
    }
}

impl BudgetPeriod {
    /// The number of the period of a time.
    #[must_use]
    pub const fn of(self, at: WallTime) -> i64 {
        match self {
            Self::Day => at.utc_day(),
            Self::Minute => at.utc_minute(),
            Self::Month => at.utc_month(),
        }
    }

    /// The end of the period of a time.
    #[must_use]
    pub const fn end(self, at: WallTime) -> WallTime {
        match self {
            Self::Day => WallTime::at_utc_day(at.utc_day() + 1),
            Self::Minute => WallTime::at_utc_minute(at.utc_minute() + 1),
            Self::Month => WallTime::at_utc_month(at.utc_month() + 1),
        }
    }
}

impl BudgetState {
    /// Whether nothing is left but what calls in flight may give back.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.spent.saturating_add(self.reserved) >= self.limit
    }

    /// Whether nothing is left until the period ends.
    #[must_use]
    pub const fn is_spent(&self) -> bool {
        self.spent >= self.limit
    }

    /// What is neither spent nor reserved.
    #[must_use]
    pub const fn left(&self) -> u64 {
        let used = self.spent.saturating_add(self.reserved);
        self.limit.saturating_sub(used)
    }

    /// The share of it that is spent, in percent, rounded down; more than 100 if the last calls used more than was left.
    #[must_use]
    pub fn percent(&self) -> u32 {
        let percent = u128::from(self.spent) * 100 / u128::from(self.limit.max(1));
        let percent = u32::try_from(percent).unwrap_or(u32::MAX);
        percent.max(if self.is_spent() { 100 } else { 0 })
    }

    /// When a call that found it full may be tried again: at the end of the period, or soon if only calls in flight
    /// stand in its way.
    #[must_use]
    pub fn retry_after(&self, now: WallTime) -> Duration {
        if self.is_spent() {
            self.ends.since(now).max(Duration::from_secs(1))
        } else {
            RESERVED_RETRY
        }
    }

    /// An amount of its unit, in words.
    #[must_use]
    pub fn shown(&self, amount: u64) -> String {
        match self.unit {
            BudgetUnit::Cost => format!("{:.4} USD", Money::from_picos(amount)),
            BudgetUnit::Tokens => format!("{amount} tokens"),
        }
    }
}

/// Whose budget it is, how much, and for which period.
impl fmt::Display for BudgetState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = match self.unit {
            BudgetUnit::Cost => format!("{} USD", Money::from_picos(self.limit)),
            BudgetUnit::Tokens => format!("{} tokens", self.limit),
        };
        let whose = match self.meter.split_once(':') {
            Some((kind, name)) => format!("the {kind} `{name}`"),
            None => format!("`{}`", self.meter),
        };
        let period = self.period.as_str();
        write!(f, "the budget of {whose}, {limit} per {period}")
    }
}

impl Quota {
    /// Its budgets.
    pub fn budgets(&self) -> impl Iterator<Item = (BudgetPeriod, BudgetUnit, u64)> {
        let cost = |limit: Option<Money>| limit.map(Money::as_picos);
        let all = [
            (BudgetPeriod::Day, BudgetUnit::Cost, cost(self.cost_per_day)),
            (BudgetPeriod::Day, BudgetUnit::Tokens, self.tokens_per_day),
            (
                BudgetPeriod::Minute,
                BudgetUnit::Tokens,
                self.tokens_per_minute,
            ),
            (
                BudgetPeriod::Month,
                BudgetUnit::Cost,
                cost(self.cost_per_month),
            ),
            (
                BudgetPeriod::Month,
                BudgetUnit::Tokens,
                self.tokens_per_month,
            ),
        ];
        all.into_iter()
            .filter_map(|(period, unit, limit)| Some((period, unit, limit?)))
    }

    /// Whether it has a budget.
    #[must_use]
    pub fn has_budget(&self) -> bool {
        self.budgets().next().is_some()
    }

    /// Whether it limits money, so that only a model whose price is known can be called.
    #[must_use]
    pub const fn needs_price(&self) -> bool {
        !self.unpriced && (self.cost_per_day.is_some() || self.cost_per_month.is_some())
    }
}

impl Meter {
    /// The budgets of a quota and what is used of them, apart from what the call of this id has reserved.
    #[must_use]
    pub fn budgets(
        &self,
        name: &Arc<str>,
        quota: &Quota,
        now: WallTime,
        id: &str,
    ) -> Vec<BudgetState> {
        let states = quota.budgets().map(|(period, unit, limit)| {
            let others = self.reservations.iter();
            let others = others.filter(|other| &*other.id != id && other.is_alive(period, now));
            let reserved = others.fold(Amount::default(), |sum, other| sum.plus(other.amount));
            let in_total = |total: Option<PeriodTotal>| {
                // A total of a later period was added by a clock that is ahead; if that is far ahead, it is wrong.
                let latest = period.of(now.after(MAX_SKEW));
                let total = total.filter(|total| (period.of(now)..=latest).contains(&total.period));
                let spent = total.map_or(0, |total| total.spent.in_unit(unit));
                (spent, period.end(now))
            };
            let (spent, ends) = match period {
                BudgetPeriod::Day => in_total(self.day),
                BudgetPeriod::Minute => self.tokens_of_minute(limit, now),
                BudgetPeriod::Month => in_total(self.month),
            };
            BudgetState {
                ends,
                limit,
                meter: Arc::clone(name),
                period,
                reserved: reserved.in_unit(unit),
                spent,
                unit,
            }
        });
        states.collect()
    }

    /// Drops the totals of periods that no right clock has reached, so that the present ones are counted again. Their
    /// records remain.
    fn forget_ahead(&mut self, now: WallTime) {
        let latest = now.after(MAX_SKEW);
        self.day
            .take_if(|total| total.period > BudgetPeriod::Day.of(latest));
        self.month
            .take_if(|total| total.period > BudgetPeriod::Month.of(latest));
        self.forget_minutes_ahead(latest);
    }

    /// Adds what was spent at a time to its day and month. What belongs to an earlier period than the newest is in the
    /// records alone.
    pub fn spend(&mut self, at: WallTime, amount: Amount) {
        add(&mut self.day, BudgetPeriod::Day.of(at), amount);
        add(&mut self.month, BudgetPeriod::Month.of(at), amount);
    }

    /// Counts an amount in place of the one that was spent at this time.
    pub(super) fn correct(&mut self, at: WallTime, before: Amount, amount: Amount) {
        let day = (&mut self.day, BudgetPeriod::Day.of(at));
        let month = (&mut self.month, BudgetPeriod::Month.of(at));
        for (total, period) in [day, month] {
            if let Some(total) = total.as_mut().filter(|total| total.period == period) {
                total.spent = total.spent.plus(amount).minus(before);
            }
        }
    }
}

impl MeterReservation {
    /// Whether it counts for a budget of this period: its call may still end. That of a process that died is let go.
    fn is_alive(&self, period: BudgetPeriod, now: WallTime) -> bool {
        let life = match period {
            BudgetPeriod::Day | BudgetPeriod::Month => RESERVATION_LIFE,
            BudgetPeriod::Minute => RATE_RESERVATION_LIFE,
        };
        // One that is further ahead than clocks may differ was made by a wrong one.
        now.since(self.at) < life && self.at <= now.after(MAX_SKEW)
    }
}

impl MeterOperation {
    /// Adds what a record settled to its meters, and lets the reservations of its call go; `None` if it settled
    /// nothing. A store performs it in the transaction that stores the record, and only if the record is new.
    #[must_use]
    pub fn settling(record: &SpendingRecord) -> Option<Self> {
        let settled = amounts(record);
        (!settled.is_empty()).then(|| Self::Settle {
            at: record.at,
            id: Arc::clone(&record.id),
            replaced: Vec::new(),
            settled,
        })
    }

    /// Adds what a record settled in place of what the known one did, which it [replaces](SpendingRecord::replacing);
    /// `None` if it settled nothing. A store performs it in the transaction that replaces the record.
    #[must_use]
    pub fn replacing(known: &SpendingRecord, record: &SpendingRecord) -> Option<Self> {
        let settled = amounts(record);
        (!settled.is_empty()).then(|| Self::Settle {
            at: known.at,
            id: Arc::clone(&record.id),
            replaced: amounts(known),
            settled,
        })
    }

    /// Lets the reservations of a record's call go; `None` if it settled nothing. A store performs it where it has the
    /// record already.
    #[must_use]
    pub fn releasing(record: &SpendingRecord) -> Option<Self> {
        let meters = record.settled.iter().map(|one| Arc::clone(&one.budget));
        (!record.settled.is_empty()).then(|| Self::Release {
            id: Arc::clone(&record.id),
            meters: meters.collect(),
        })
    }
}

/// Reserves an amount in all meters, or finds the budget that is used up: of several, the one that is so for longest.
pub(super) fn reserve(
    meters: &mut [Meter],
    id: &Arc<str>,
    at: WallTime,
    amount: Amount,
    quotas: &[(Arc<str>, Quota)],
) -> Result<(), BudgetState> {
    let states = meters
        .iter()
        .zip(quotas)
        .flat_map(|(meter, (name, quota))| meter.budgets(name, quota, at, id));
    let full = states.filter(BudgetState::is_full);
    if let Some(longest) = full.max_by_key(|state| state.retry_after(at)) {
        return Err(longest);
    }
    for meter in meters {
        meter.forget_ahead(at);
        meter
            .reservations
            .retain(|other| other.id != *id && other.is_alive(BudgetPeriod::Month, at));
        meter.reservations.push(MeterReservation {
            amount,
            at,
            id: Arc::clone(id),
        });
    }
    Ok(())
}

/// What a record settled, by budget.
fn amounts(record: &SpendingRecord) -> Vec<(Arc<str>, Amount)> {
    let mut settled: Vec<(Arc<str>, Amount)> = Vec::new();
    for one in &record.settled {
        let amount = Amount::of(one);
        match settled.iter_mut().find(|(name, _)| *name == one.budget) {
            Some((_, sum)) => *sum = sum.plus(amount),
            None => settled.push((Arc::clone(&one.budget), amount)),
        }
    }
    settled
}

fn add(total: &mut Option<PeriodTotal>, period: i64, amount: Amount) {
    match total {
        Some(total) if total.period > period => {}
        Some(total) if total.period == period => total.spent = total.spent.plus(amount),
        Some(_) | None => {
            *total = Some(PeriodTotal {
                period,
                spent: amount,
            });
        }
    }
}

/// How long the reservation of a call counts that is not heard of again: longer than any reply takes.
const RESERVATION_LIFE: Duration = Duration::from_secs(60 * 60);
/// How long it counts for a rate: a process that died blocks none for longer.
const RATE_RESERVATION_LIFE: Duration = Duration::from_secs(5 * 60);
/// After which time a call may be tried again that found what is left reserved by calls in flight. It is a guess.
const RESERVED_RETRY: Duration = Duration::from_secs(5);
