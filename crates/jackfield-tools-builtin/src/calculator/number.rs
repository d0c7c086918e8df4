//! Numbers: fractions are exact, alone or times pi, and everything else is a float.

use std::cmp::Ordering;
use std::f64::consts::{LN_2, LN_10, PI};

use num::bigint::Sign;
use num::{BigInt, BigRational, Integer as _, One as _, Signed as _, ToPrimitive as _, Zero as _};

use crate::answer::ToolFault;

#[derive(Clone, Debug)]
pub(super) enum Number {
    Exact(BigRational),
    Float(f64),
    /// So many times pi, and never zero.
    Pi(BigRational),
}

impl Number {
    /// The fraction of two whole numbers.
    pub(super) fn fraction(above: BigInt, below: BigInt) -> Result<Self, ToolFault> {
        fraction(above, below).map(Self::Exact)
    }

    pub(super) fn float(value: f64) -> Result<Self, ToolFault> {
        if value.is_nan() {
            Err(undefined("the function is not defined for this value"))
        } else if value.is_infinite() {
            Err(too_large())
        } else {
            Ok(Self::Float(value))
        }
    }

    pub(super) fn to_f64(&self) -> Result<f64, ToolFault> {
        let (ratio, unit) = match self {
            Self::Exact(ratio) => (ratio, 1.0),
            Self::Float(value) => return Ok(*value),
            Self::Pi(ratio) => (ratio, PI),
        };
        let value = ratio.to_f64().unwrap_or(f64::INFINITY) * unit;
        if value == 0.0 && !ratio.is_zero() {
            return Err(too_small());
        }
        Self::float(value)?;
        Ok(value)
    }

    /// The number, if it is known to be whole.
    pub(super) fn whole(&self) -> Option<&BigInt> {
        match self {
            Self::Exact(ratio) if ratio.is_integer() => Some(ratio.numer()),
            Self::Exact(_) | Self::Float(_) | Self::Pi(_) => None,
        }
    }

    /// How it compares to zero.
    pub(super) fn sign(&self) -> Ordering {
        match self {
            Self::Exact(ratio) | Self::Pi(ratio) => ratio.numer().sign().cmp(&Sign::NoSign),
            Self::Float(value) => value.partial_cmp(&0.0).unwrap_or(Ordering::Equal),
        }
    }

    pub(super) fn negate(self) -> Self {
        match self {
            Self::Exact(ratio) => Self::Exact(-ratio),
            Self::Float(value) => Self::Float(-value),
            Self::Pi(ratio) => Self::Pi(-ratio),
        }
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self, ToolFault> {
        let sum = |a: &BigRational, b: &BigRational| {
            let above = a.numer() * b.denom() + b.numer() * a.denom();
            fraction(above, a.denom() * b.denom())
        };
        match (self, other) {
            (Self::Exact(zero), same) | (same, Self::Exact(zero)) if zero.is_zero() => {
                Ok(same.clone())
            }
            (Self::Exact(a), Self::Exact(b)) => sum(a, b).map(Self::Exact),
            (Self::Pi(a), Self::Pi(b)) => sum(a, b).map(|sum| match sum.is_zero() {
                true => Self::Exact(sum),
                false => Self::Pi(sum),
            }),
            _ => Self::float(self.to_f64()? + other.to_f64()?),
        }
    }

    pub(super) fn multiply(&self, other: &Self) -> Result<Self, ToolFault> {
        let product = |a: &BigRational, b: &BigRational| {
            fraction(a.numer() * b.numer(), a.denom() * b.denom())
        };
        match (self, other) {
            (Self::Exact(zero), _) | (_, Self::Exact(zero)) if zero.is_zero() => {
                Ok(Self::Exact(zero.clone()))
            }
            (Self::Exact(a), Self::Exact(b)) => product(a, b).map(Self::Exact),
            (Self::Exact(a), Self::Pi(b)) | (Self::Pi(b), Self::Exact(a)) => {
                product(a, b).map(Self::Pi)
            }
            _ => Self::float(self.to_f64()? * other.to_f64()?),
        }
    }

    pub(super) fn divide(&self, other: &Self) -> Result<Self, ToolFault> {
        if other.sign().is_eq() {
            return Err(undefined("division by zero"));
        }
        let quotient = |a: &BigRational, b: &BigRational| {
            fraction(a.numer() * b.denom(), a.denom() * b.numer())
        };
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) | (Self::Pi(a), Self::Pi(b)) => {
                quotient(a, b).map(Self::Exact)
            }
            (Self::Pi(a), Self::Exact(b)) => quotient(a, b).map(Self::Pi),
            _ => Self::float(self.to_f64()? / other.to_f64()?),
        }
    }

    pub(super) fn compare(&self, other: &Self) -> Result<Ordering, ToolFault> {
        Ok(match (self, other) {
            // The comparison of `num` may need a deep stack.
            (Self::Exact(a), Self::Exact(b)) | (Self::Pi(a), Self::Pi(b)) => {
                (a.numer() * b.denom()).cmp(&(b.numer() * a.denom()))
            }
            _ => self.to_f64()?.total_cmp(&other.to_f64()?),
        })
    }

    pub(super) fn power(&self, exponent: &Self) -> Result<Self, ToolFault> {
        match (self.sign(), exponent.sign()) {
            (Ordering::Equal, Ordering::Equal) => {
                return Err(undefined("zero to the power of zero is undefined"));
            }
            (Ordering::Equal, Ordering::Less) => return Err(undefined("division by zero")),
            (Ordering::Equal, Ordering::Greater) => return Ok(self.clone()),
            (_, Ordering::Equal) => return Ok(Self::Exact(BigRational::one())),
            _ => {}
        }
        let (negative, whole) = (self.sign().is_lt(), exponent.whole());
        if negative && whole.is_none() {
            return Err(undefined(
                "a negative number to a fractional power is not a real number: for a cube root use cbrt(x)",
            ));
        }
        let times = exponent.to_f64()?;
        let digits = times * self.ln() / LN_10;
        if digits.abs() > MAX_DIGITS {
            return Err(if digits > 0.0 {
                too_large()
            } else {
                too_small()
            });
        }
        if let (Self::Exact(base), Some(whole)) = (self, whole) {
            let size = (base.numer().bits() + base.denom().bits()) as f64;
            if size <= 2.0 {
                let kept = negative && whole.is_odd();
                return Ok(Self::Exact(if kept {
                    base.clone()
                } else {
                    BigRational::one()
                }));
            }
            if let Some(whole) = whole.to_i32()
                && (base.is_integer() || size * times.abs() <= MAX_POWER_BITS)
            {
                return Ok(Self::Exact(base.pow(whole)));
            }
        }
        if let (Self::Exact(base), Self::Exact(exponent)) = (self, exponent)
            && let (Some(above @ -20..=20), Some(below @ 2..=10)) =
                (exponent.numer().to_i32(), exponent.denom().to_u32())
            && let Some(root) = exact_root(base, below)
        {
            return Self::Exact(root).power(&Self::from(above));
        }
        let size = match self.to_f64() {
            // Near one, a float has lost what a high power needs.
            Ok(base) if self.ln().abs() > 0.5 => base.abs().powf(times),
            _ => (self.ln() * times).exp(),
        };
        if size == 0.0 {
            return Err(too_small());
        }
        let odd = negative && whole.is_some_and(BigInt::is_odd);
        Self::float(if odd { -size } else { size })
    }

    /// The natural logarithm of the absolute value; the number is not zero.
    pub(super) fn ln(&self) -> f64 {
        let (ratio, unit) = match self {
            Self::Exact(ratio) => (ratio, 0.0),
            Self::Float(value) => return value.abs().ln(),
            Self::Pi(ratio) => (ratio, PI.ln()),
        };
        let (above, below) = (ratio.numer().abs(), ratio.denom().clone());
        let to_f64 = |above, below| BigRational::new_raw(above, below).to_f64().unwrap_or(0.0);
        let bits = above.bits() as i64 - below.bits() as i64;
        let ln = match bits {
            -1..=1 => to_f64(above - &below, below).ln_1p(),
            2.. => to_f64(above, below << bits).ln(),
            _ => to_f64(above << -bits, below).ln(),
        };
        let shifted = if bits.abs() > 1 {
            bits as f64 * LN_2
        } else {
            0.0
        };
        ln + shifted + unit
    }

    /// The number in digits, and whether none is missing: all digits of an exact one, 15 of any other.
    pub(super) fn write(&self) -> Result<(String, bool), ToolFault> {
        let exact = match self {
            Self::Exact(ratio) => ratio.clone(),
            Self::Float(_) | Self::Pi(_) => {
                BigRational::from_float(self.to_f64()?).unwrap_or_default()
            }
        };
        if exact.is_zero() {
            return Ok(("0".to_owned(), matches!(self, Self::Exact(_))));
        }
        let all = matches!(self, Self::Exact(_)).then(|| digits(&exact, MAX_WRITTEN));
        let all = all.filter(|(.., has_rest)| !has_rest);
        let is_exact = all.is_some();
        let (digits, point, _) = all.unwrap_or_else(|| digits(&exact, RELIABLE_DIGITS));
        let count = digits.len() as i64;
        let is_plain = match is_exact {
            true => count.max(point).max(count - point) <= MAX_WRITTEN as i64,
            false => (-5..=21).contains(&point),
        };
        let sign = if exact.is_negative() { "-" } else { "" };
        let written = match usize::try_from(point) {
            _ if !is_plain => {
                let (first, rest) = digits.split_at(1);
                let dot = if rest.is_empty() { "" } else { "." };
                format!("{first}{dot}{rest}e{}", point - 1)
            }
            Err(_) | Ok(0) => format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
            Ok(point) if point < digits.len() => {
                let (whole, decimals) = digits.split_at(point);
                format!("{whole}.{decimals}")
            }
            Ok(point) => format!("{digits:0<point$}"),
        };
        Ok((format!("{sign}{written}"), is_exact))
    }
}

impl From<i32> for Number {
    fn from(number: i32) -> Self {
        Self::Exact(BigRational::from(BigInt::from(number)))
    }
}

/// The greatest common divisor; what takes long to find is refused.
pub(super) fn gcd(a: &BigInt, b: &BigInt) -> Result<BigInt, ToolFault> {
    let (mut a, mut b, mut work) = (a.abs(), b.abs(), 0);
    while !b.is_zero() {
        work += b.bits();
        if work > MAX_WORK {
            let text = "the numbers have too many digits to work with: make them smaller";
            return Err(ToolFault::Exhausted(text.to_owned()));
        }
        (a, b) = (b.clone(), a % b);
    }
    Ok(a)
}

/// A whole number of a size that is worked with.
pub(super) fn bounded(number: BigInt) -> Result<BigInt, ToolFault> {
    if number.bits() > MAX_BITS {
        return Err(too_large());
    }
    Ok(number)
}

pub(super) fn undefined(text: &str) -> ToolFault {
    ToolFault::Unanswerable(text.to_owned())
}

pub(super) fn too_large() -> ToolFault {
    undefined("the result is too large: more than 10000 digits, or 308 if it is not exact")
}

pub(super) fn too_small() -> ToolFault {
    undefined(
        "the result is too close to zero: more than 10000 decimals, or 308 if it is not exact",
    )
}

/// A reduced fraction of numbers of bounded size.
fn fraction(above: BigInt, below: BigInt) -> Result<BigRational, ToolFault> {
    let common = gcd(&below, &above)?;
    let common = if below.is_negative() { -common } else { common };
    let (above, below) = (bounded(above / &common)?, below / common);
    if below.bits() > MAX_BITS {
        return Err(too_small());
    }
    Ok(BigRational::new_raw(above, below))
}

fn exact_root(number: &BigRational, degree: u32) -> Option<BigRational> {
    let root = |number: &BigInt| {
        let root = number.nth_root(degree);
        (root.pow(degree) == *number).then_some(root)
    };
    Some(BigRational::new_raw(
        root(number.numer())?,
        root(number.denom())?,
    ))
}

/// The first digits of a number that is not zero, as `0.digits * 10^point` without zeros at the end, and whether there are
/// more. The last one is rounded.
fn digits(number: &BigRational, count: usize) -> (String, i64, bool) {
    let mut point = (Number::Exact(number.clone()).ln() / LN_10).floor() as i64 + 1;
    loop {
        let shift = count as i64 - point;
        let power = BigInt::from(10).pow(shift.unsigned_abs() as u32);
        let (above, below) = match shift {
            0.. => (number.numer().abs() * power, number.denom().clone()),
            _ => (number.numer().abs(), number.denom() * power),
        };
        let (digits, rest) = above.div_rem(&below);
        let length = digits.to_string().len();
        if length != count {
            // Near a power of ten, the logarithm may be off by one.
            point += if length > count { 1 } else { -1 };
            continue;
        }
        let is_rounded_up = &rest * 2 >= below;
        let digits = (digits + u8::from(is_rounded_up)).to_string();
        point += i64::from(digits.len() > count);
        let digits = digits.trim_end_matches('0').to_owned();
        return (digits, point, !rest.is_zero());
    }
}

/// The most digits of a number before or after the point.
const MAX_DIGITS: f64 = 10_000.0;
/// The most bits above and below a fraction bar: a little more than 10,000 digits.
const MAX_BITS: u64 = 33_300;
/// The most bits of a fraction that is the result of a power: 2,000 digits.
const MAX_POWER_BITS: f64 = 6_644.0;
/// The most bits that the steps of one greatest common divisor go through: some milliseconds.
const MAX_WORK: u64 = 1 << 24;
/// The most digits of an exact result in full.
const MAX_WRITTEN: usize = 100;
/// The digits of any other result.
const RELIABLE_DIGITS: usize = 15;
