//! Approximate numbers of about 31 digits and any magnitude, for results that are not exact.
//!
//! The engine does the exact arithmetic. These numbers run in parallel: they predict results that are too large,
//! and they provide the digits of roots, powers and functions whose exact form does not exist or would be enormous.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `(high + low) · 2^exponent`, where `high` is zero or between a half and one in absolute value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DoubleDouble {
    high: f64,
    low: f64,
    exponent: i64,
}

impl DoubleDouble {
    /// Euler's number.
    pub(crate) fn e() -> Self {
        Self::of(std::f64::consts::E, 1.445_646_891_729_250_2e-16, 0)
    }

    /// The circle constant.
    pub(crate) fn pi() -> Self {
        Self::of(std::f64::consts::PI, 1.224_646_799_147_353_2e-16, 0)
    }

    /// Parses decimal text: digits with at most one point, and an exponent after an `e`.
    pub(crate) fn parse(text: &str) -> Self {
        let (mantissa, exponent) = match text.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap_or(0)),
            None => (text, 0),
        };
        let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let ten = Self::from(10.0);
        let value = whole
            .chars()
            .chain(decimals.chars())
            .filter_map(|digit| digit.to_digit(10))
            .fold(Self::from(0.0), |sum, digit| {
                sum * ten + Self::from(f64::from(digit))
            });
        let shift = exponent.saturating_sub(i64::try_from(decimals.len()).unwrap_or(i64::MAX));
        let scale = ten.power(shift.unsigned_abs());
        if shift < 0 {
            value / scale
        } else {
            value * scale
        }
    }

    /// Returns the nearest float: zero or infinity if it is out of range.
    pub(crate) fn nearest(self) -> f64 {
        let exponent = i32::try_from(self.exponent).unwrap_or(if self.exponent < 0 {
            i32::MIN / 2
        } else {
            i32::MAX / 2
        });
        // In two steps, because the power alone may be out of a float's range.
        let half = exponent / 2;
        self.high * 2f64.powi(half) * 2f64.powi(exponent - half)
    }

    /// Returns the logarithm to base 10 of the absolute value.
    pub(crate) fn log10(self) -> f64 {
        self.high.abs().log10() + self.exponent as f64 * std::f64::consts::LOG10_2
    }

    /// Returns the natural logarithm, undefined unless the value is positive.
    pub(crate) fn ln(self) -> f64 {
        let above_one = (self - Self::from(1.0)).nearest();
        if above_one.abs() < 0.25 {
            // Near one, a plain logarithm would only see the rounded difference.
            above_one.ln_1p()
        } else {
            self.high.ln() + self.exponent as f64 * std::f64::consts::LN_2
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        self.high == 0.0
    }

    pub(crate) fn is_negative(self) -> bool {
        self.high < 0.0
    }

    /// Returns whether this sum lost many digits of this term by cancellation.
    pub(crate) fn is_remnant_of(self, term: Self) -> bool {
        !term.is_zero() && (self.is_zero() || self.exponent < term.exponent - 30)
    }

    /// Returns the absolute value.
    pub(crate) fn abs(self) -> Self {
        if self.is_negative() { -self } else { self }
    }

    /// Returns the largest integer not above the value.
    pub(crate) fn floor(self) -> Self {
        if self.exponent > 106 {
            return self;
        }
        if self.exponent < 0 {
            return Self::from(if self.is_negative() { -1.0 } else { 0.0 });
        }
        let scale = 2f64.powi(i32::try_from(self.exponent).unwrap_or(0));
        let (high, low) = (self.high * scale, self.low * scale);
        if high.floor() == high {
            Self::of(high, low.floor(), 0)
        } else {
            Self::from(high.floor())
        }
    }

    /// Returns the value as an integer, if it is one to within rounding.
    pub(crate) fn whole(self) -> Option<i64> {
        if self.exponent < 0 && !self.is_zero() {
            return None;
        }
        let nearest = self.nearest().round();
        let distance = (self - Self::from(nearest)).abs().nearest();
        let error = nearest.abs().max(1.0) * 1e-25;
        (nearest.abs() < 1e15 && distance < error).then_some(nearest as i64)
    }

    /// Returns the square root of a non-negative value.
    pub(crate) fn root(self) -> Self {
        if self.is_zero() {
            return self;
        }
        let odd = self.exponent.rem_euclid(2);
        let even = Self::of(self.high, self.low, odd);
        // One step of Newton's method doubles the digits of the float's root.
        let guess = Self::from(even.nearest().sqrt());
        let root = guess + (even - guess * guess) / (guess + guess);
        Self::of(
            root.high,
            root.low,
            root.exponent + (self.exponent - odd) / 2,
        )
    }

    /// Returns the value multiplied by itself `exponent` times.
    pub(crate) fn power(self, mut exponent: u64) -> Self {
        let mut base = self;
        let mut product = Self::from(1.0);
        while exponent > 0 {
            if exponent % 2 == 1 {
                product = product * base;
            }
            exponent /= 2;
            if exponent > 0 {
                base = base * base;
            }
        }
        product
    }

    /// Returns a positive value to any power.
    pub(crate) fn power_of(self, exponent: Self) -> Self {
        let whole = exponent.floor();
        let rest = (exponent - whole).nearest();
        let turns = whole.nearest();
        let power = self.power(turns.abs() as u64);
        let power = if turns < 0.0 {
            Self::from(1.0) / power
        } else {
            power
        };
        power * exp(self.ln() * rest)
    }

    /// Returns Euler's number to this power.
    pub(crate) fn exp(self) -> Self {
        Self::e().power_of(self)
    }

    /// Writes the value as an expression of decimal literals, without a relevant loss.
    pub(crate) fn literal(self) -> String {
        let (operator, exponent) = if self.exponent < 0 {
            ('/', self.exponent.unsigned_abs())
        } else {
            ('*', self.exponent.unsigned_abs())
        };
        format!(
            "({:.40e} + ({:.24e})) {operator} 2^{exponent}",
            self.high, self.low
        )
    }

    fn of(high: f64, low: f64, exponent: i64) -> Self {
        let sum = high + low;
        if sum == 0.0 || !sum.is_finite() {
            return Self {
                high: sum,
                low: 0.0,
                exponent: 0,
            };
        }
        let part = sum - high;
        let low = (high - (sum - part)) + (low - part);
        let shift = binary_exponent(sum);
        let scale = 2f64.powi(-shift);
        Self {
            high: sum * scale,
            low: low * scale,
            exponent: exponent.saturating_add(i64::from(shift)),
        }
    }
}

/// Returns Euler's number to the power of a float of moderate size.
fn exp(power: f64) -> DoubleDouble {
    let turns = (power / std::f64::consts::LN_2).round();
    let rest = turns.mul_add(-std::f64::consts::LN_2, power);
    DoubleDouble::of(rest.exp(), 0.0, turns as i64)
}

/// Returns the power of two by which a float is divided to be between a half and one.
fn binary_exponent(value: f64) -> i32 {
    let bits = (value.to_bits() >> 52) & 0x7ff;
    match i32::try_from(bits) {
        // Subnormal: far below any difference from zero that matters to callers.
        Ok(0) | Err(_) => 0,
        Ok(bits) => bits - 1022,
    }
}

impl From<f64> for DoubleDouble {
    fn from(value: f64) -> Self {
        Self::of(value, 0.0, 0)
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (large, small) =
            if other.is_zero() || (!self.is_zero() && self.exponent >= other.exponent) {
                (self, other)
            } else {
                (other, self)
            };
        let distance = large.exponent - small.exponent;
        if small.is_zero() || distance > 200 {
            return large;
        }
        let scale = 2f64.powi(i32::try_from(-distance).unwrap_or(0));
        let (high, high_error) = exact_sum(large.high, small.high * scale);
        let (low, low_error) = exact_sum(large.low, small.low * scale);
        let (high, rest) = exact_sum(high, high_error + low);
        Self::of(high, rest + low_error, large.exponent)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            high: -self.high,
            low: -self.low,
            ..self
        }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let high = self.high * other.high;
        let error = self.high.mul_add(other.high, -high);
        let cross = self.high.mul_add(other.low, self.low * other.high);
        let exponent = self.exponent.saturating_add(other.exponent);
        Self::of(high, error + cross, exponent)
    }
}

impl Div for DoubleDouble {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let divisor = Self {
            exponent: 0,
            ..other
        };
        let dividend = Self {
            exponent: 0,
            ..self
        };
        let first = Self::from(dividend.high / divisor.high);
        let rest = dividend - divisor * first;
        let second = Self::from(rest.nearest() / divisor.high);
        let rest = rest - divisor * second;
        let quotient = first + second + Self::from(rest.nearest() / divisor.high);
        Self::of(
            quotient.high,
            quotient.low,
            quotient
                .exponent
                .saturating_add(self.exponent)
                .saturating_sub(other.exponent),
        )
    }
}

fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}
