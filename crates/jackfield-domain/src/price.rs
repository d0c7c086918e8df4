//! Prices of models, and what a usage costs under one: exact, in integers, each token priced once.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::sync::Arc;

use thiserror::Error;

use crate::request::ModelRef;
use crate::usage::Usage;

/// An amount of money in millionths of a millionth of its currency's unit; which currency is said elsewhere.
///
/// So small because a price per million tokens with up to six decimals is then a whole number for
/// one token, and nothing is ever rounded. It ends at 18 million units, and stays there.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Money(u64);

impl Money {
    /// The most that can be told.
    pub const MAX: Self = Self(u64::MAX);
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// This many millionths of a millionth of a unit.
    #[must_use]
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// Millionths of a millionth of a unit.
    #[must_use]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Reads a decimal number of units, such as `0.50`.
    ///
    /// # Errors
    ///
    /// [`InvalidMoney`] if it is not one, is below zero, too large, or finer than 12 decimals.
    pub fn parse(text: &str) -> Result<Self, InvalidMoney> {
        let invalid = || InvalidMoney(text.chars().take(40).collect());
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let part = part.trim_end_matches('0');
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > DECIMALS {
            return Err(invalid());
        }
        let whole: u64 = whole.parse().map_err(|_| invalid())?;
        let part: u64 = format!("{part:0<DECIMALS$}")
            .parse()
            .map_err(|_| invalid())?;
        let whole = whole.checked_mul(UNIT).ok_or_else(invalid)?;
        whole.checked_add(part).map(Self).ok_or_else(invalid)
    }

    /// What is left when this much is taken away; nothing, if it is more.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This many times as much.
    #[must_use]
    pub const fn times(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

/// A decimal number of units, as many decimals as it has; with a precision, rounded up to that many,
/// so that what costs something never shows as nothing.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / UNIT, self.0 % UNIT);
        let Some(places) = f.precision().filter(|places| *places < DECIMALS) else {
            let part = format!("{part:0DECIMALS$}");
            let part = part.trim_end_matches('0');
            return if part.is_empty() {
                write!(f, "{whole}")
            } else {
                write!(f, "{whole}.{part}")
            };
        };
        let step = 10_u64.pow(u32::try_from(DECIMALS - places).unwrap_or(0));
        let steps = part.div_ceil(step);
        let per_unit = UNIT / step;
        let (whole, steps) = (whole + steps / per_unit, steps % per_unit);
        if places == 0 {
            write!(f, "{whole}")
        } else {
            write!(f, "{whole}.{steps:0places$}")
        }
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// A text that is not an amount of money.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error(
    "`{0}` is not an amount of money: a decimal number such as 0.50 is expected, with at most 12 decimals"
)]
pub struct InvalidMoney(String);

/// What a model's tokens cost: for one token each.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Price {
    /// An input token that was read from a cache.
    pub cache_read: Money,
    /// An input token that was written to a cache.
    pub cache_write: Money,
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// The day on which it was read at its source, such as `2026-11-01`.
    pub date: Arc<str>,
    /// Any other input token.
    pub input: Money,
    /// An output token, reasoning included.
    pub output: Money,
    /// Where it comes from: an address, or a name.
    pub source: Arc<str>,
}

impl Price {
    /// What this usage costs. Each token is priced once: cached input is not priced as fresh too.
    ///
    /// Where a server says that more was cached than there was input, the cached part alone is priced.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Money {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        self.input.times(usage.input.saturating_sub(cached))
            + self.cache_read.times(usage.cache_read)
            + self.cache_write.times(usage.cache_write)
            + self.output.times(usage.output)
    }

    /// The same with its currency, and how much of it is an estimate. Nothing is cached in one.
    #[must_use]
    pub fn bill(&self, usage: &Usage) -> Cost {
        Cost {
            amount: self.cost(usage),
            currency: Arc::clone(&self.currency),
            estimated: self.input.times(usage.estimated_input)
                + self.output.times(usage.estimated_output),
        }
    }

    /// The most that so many tokens can cost: the input at its dearest, written to a cache.
    #[must_use]
    pub fn reserve(&self, input: u64, output: u64) -> Money {
        self.input.max(self.cache_write).times(input) + self.output.times(output)
    }
}

/// What something cost.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cost {
    /// How much, the estimate included.
    pub amount: Money,
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// How much of the amount is an estimate.
    pub estimated: Money,
}

/// The prices that are known, by provider and model.
///
/// The name [`PriceList::ANY`] stands for every model of a provider that has no price of its own.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PriceList(BTreeMap<Arc<str>, BTreeMap<Arc<str>, Price>>);

impl PriceList {
    /// In place of a model's name: all models of the provider that are not named.
    pub const ANY: &str = "*";

    /// Sets the price of a model; the one that it had is gone.
    pub fn set(&mut self, provider: impl Into<Arc<str>>, model: impl Into<Arc<str>>, price: Price) {
        let models = self.0.entry(provider.into()).or_default();
        models.insert(model.into(), price);
    }

    /// The price of a model, if it is known. One that is not known is not nothing.
    #[must_use]
    pub fn of(&self, model: &ModelRef) -> Option<&Price> {
        let models = self.0.get(&model.provider)?;
        models.get(&model.model).or_else(|| models.get(Self::ANY))
    }

    /// All of them: provider, model, price.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Price)> {
        self.0.iter().flat_map(|(provider, models)| {
            models
                .iter()
                .map(|(model, price)| (&**provider, &**model, price))
        })
    }
}

/// How many decimals an amount has.
const DECIMALS: usize = 12;
/// A unit, in what amounts are counted in.
const UNIT: u64 = 1_000_000_000_000;
