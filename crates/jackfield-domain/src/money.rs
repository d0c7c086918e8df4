//! Amounts of money: exact, in integers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use thiserror::Error;

/// An amount of money in trillionths (1e-12) of its currency's unit; the currency is stored elsewhere.
///
/// With this precision, a price per million tokens with up to six decimals is a whole number per token, and
/// nothing is rounded. It saturates at 18 million units.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Money(u64);

impl Money {
    /// The largest amount.
    pub const MAX: Self = Self(u64::MAX);
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// An amount in trillionths of a unit.
    #[must_use]
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// The amount in trillionths of a unit.
    #[must_use]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Parses a decimal number of units, such as `0.50`.
    ///
    /// # Errors
    ///
    /// [`InvalidMoney`] if it is not a number, is negative, too large, or has more than 12 decimals.
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

    /// An amount that a provider wrote as a number, rounded; `None` if it is none.
    #[must_use]
    pub fn from_number(amount: f64) -> Option<Self> {
        Self::parse(&format!("{amount:.DECIMALS$}")).ok()
    }

    /// The difference; saturates at zero.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product; saturates at the largest amount.
    #[must_use]
    pub const fn times(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }

    /// The amount in the ratio of two others; saturates.
    #[must_use]
    pub fn in_ratio(self, part: u64, whole: u64) -> Self {
        let picos = u128::from(self.0) * u128::from(part) / u128::from(whole.max(1));
        Self(u64::try_from(picos).unwrap_or(u64::MAX))
    }
}

/// A decimal number of units with all of its decimals. With a precision, it is rounded up, so that a cost never
/// shows as zero.
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

/// The text is not an amount of money.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error(
    "`{0}` is not an amount of money: a decimal number such as 0.50 is expected, with at most 12 decimals"
)]
pub struct InvalidMoney(String);

/// The number of decimals of an amount.
const DECIMALS: usize = 12;
/// One unit, in trillionths.
const UNIT: u64 = 1_000_000_000_000;
