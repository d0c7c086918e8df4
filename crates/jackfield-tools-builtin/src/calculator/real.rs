//! Numbers: exact fractions, alone or times pi, and approximate ones of about 60 digits.

use num::{BigInt, BigRational, Integer as _, One as _, Signed as _, ToPrimitive as _, Zero as _};

use super::TIME_LIMIT;
use super::fault::CalculationError;

/// A real number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Real {
    ratio: BigRational,
    /// Whether it is so many times pi.
    pi: bool,
    /// Whether no digit of it is missing.
    exact: bool,
}

impl Real {
    pub(crate) fn pi() -> Self {
        Self {
            pi: true,
            ..Self::from(1)
        }
    }

    /// Parses digits with at most one point, and an exponent after an `e`.
    pub(crate) fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: BigInt = format!("{whole}{decimals}").parse().unwrap_or_default();
        let exponent = exponent.parse::<i32>().unwrap_or(0);
        let shift = exponent - i32::try_from(decimals.len()).unwrap_or(0);
        let scale = BigInt::from(10).pow(shift.unsigned_abs());
        Self::exact(if shift < 0 {
            fraction(digits, scale)
        } else {
            BigRational::from(digits * scale)
        })
    }

    pub(crate) const fn exact(ratio: BigRational) -> Self {
        Self {
            ratio,
            pi: false,
            exact: true,
        }
    }

    /// A number of which only the first digits are right.
    pub(crate) fn approximate(ratio: BigRational) -> Self {
        let size = ratio.numer().bits() + ratio.denom().bits();
        let ratio = if size > 4 * BITS {
            let shift = 2 * BITS as i64 + ratio.denom().bits() as i64 - ratio.numer().bits() as i64;
            scaled(&(shifted(ratio.numer(), shift) / ratio.denom()), -shift)
        } else {
            ratio
        };
        Self {
            exact: false,
            ..Self::exact(ratio)
        }
    }

    pub(crate) fn float(value: f64) -> Self {
        Self::approximate(BigRational::from_float(value).unwrap_or_default())
    }

    /// The number without pi as a factor.
    pub(crate) fn ratio(&self) -> BigRational {
        if self.pi {
            let pi = Self::parse(PI).ratio;
            fraction(
                self.ratio.numer() * pi.numer(),
                self.ratio.denom() * pi.denom(),
            )
        } else {
            self.ratio.clone()
        }
    }

    /// The number, approximate if another one is.
    pub(crate) const fn limited_by(mut self, other: &Self) -> Self {
        self.exact &= other.exact;
        self
    }

    /// How many times pi it is, if that is known.
    pub(crate) fn turns(&self) -> Option<&BigRational> {
        (self.exact && (self.pi || self.ratio.is_zero())).then_some(&self.ratio)
    }

    /// Whether it is an exact fraction.
    pub(crate) fn is_exact(&self) -> bool {
        self.exact && (!self.pi || self.ratio.is_zero())
    }

    pub(crate) fn to_f64(&self) -> f64 {
        self.ratio().to_f64().unwrap_or(f64::NAN)
    }

    /// The logarithm to base 10 of the absolute value.
    pub(crate) fn log10(&self) -> f64 {
        let log2 = |part: &BigInt| {
            let shift = part.bits().saturating_sub(64);
            (part.abs() >> shift).to_f64().unwrap_or(0.0).log2() + shift as f64
        };
        let pi = if self.pi {
            std::f64::consts::PI.log10()
        } else {
            0.0
        };
        (log2(self.ratio.numer()) - log2(self.ratio.denom())) * std::f64::consts::LOG10_2 + pi
    }

    /// About how many digits the fraction has.
    pub(crate) fn size(&self) -> f64 {
        (self.ratio.numer().bits() + self.ratio.denom().bits()) as f64 * std::f64::consts::LOG10_2
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.ratio.is_zero()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.ratio.is_negative()
    }

    pub(crate) fn is(&self, number: i64) -> bool {
        !self.pi && self.ratio == BigRational::from(BigInt::from(number))
    }

    /// The number, if it is whole.
    pub(crate) fn whole(&self) -> Option<BigInt> {
        (!self.pi && self.ratio.is_integer()).then(|| self.ratio.to_integer())
    }

    pub(crate) fn abs(&self) -> Self {
        if self.is_negative() {
            self.negate()
        } else {
            self.clone()
        }
    }

    pub(crate) fn negate(&self) -> Self {
        Self {
            ratio: -self.ratio.clone(),
            ..self.clone()
        }
    }

    pub(crate) fn add(&self, other: &Self) -> Result<Self, CalculationError> {
        let exact = self.exact && other.exact;
        let sum = |a: &BigRational, b: &BigRational| {
            if a.denom() == b.denom() {
                return fraction(a.numer() + b.numer(), a.denom().clone());
            }
            let above = a.numer() * b.denom() + b.numer() * a.denom();
            fraction(above, a.denom() * b.denom())
        };
        if self.pi == other.pi || self.is_zero() || other.is_zero() {
            let pi = if self.is_zero() { other.pi } else { self.pi };
            return Self::of(sum(&self.ratio, &other.ratio), pi, exact);
        }
        Self::of(sum(&self.ratio(), &other.ratio()), false, false)
    }

    pub(crate) fn multiply(&self, other: &Self) -> Result<Self, CalculationError> {
        if let Some(zero) = [self, other]
            .into_iter()
            .find(|one| one.exact && one.is_zero())
        {
            return Ok(zero.clone());
        }
        let both = self.pi && other.pi;
        let other_ratio = if both {
            other.ratio()
        } else {
            other.ratio.clone()
        };
        let above = self.ratio.numer() * other_ratio.numer();
        let ratio = fraction(above, self.ratio.denom() * other_ratio.denom());
        let exact = self.exact && other.exact && !both;
        Self::of(ratio, self.pi || other.pi, exact)
    }

    pub(crate) fn divide(&self, other: &Self) -> Result<Self, CalculationError> {
        if other.is_zero() {
            return Err(CalculationError::DivisionByZero);
        }
        let keeps_pi = self.pi && !other.pi;
        let by_pi = other.pi && !self.pi;
        let divisor = if by_pi {
            other.ratio()
        } else {
            other.ratio.clone()
        };
        let above = self.ratio.numer() * divisor.denom();
        let ratio = fraction(above, self.ratio.denom() * divisor.numer());
        Self::of(ratio, keeps_pi, self.exact && other.exact && !by_pi)
    }

    /// The number to a small whole power.
    pub(crate) fn power(&self, exponent: i32) -> Result<Self, CalculationError> {
        if exponent == 1 {
            return Ok(self.clone());
        }
        let ratio = self.ratio();
        let above = ratio.numer().pow(exponent.unsigned_abs());
        let below = ratio.denom().pow(exponent.unsigned_abs());
        // A power of a reduced fraction is reduced.
        let (above, below) = if exponent < 0 {
            (below, above)
        } else {
            (above, below)
        };
        let ratio = if below.is_negative() {
            BigRational::new_raw(-above, -below)
        } else {
            BigRational::new_raw(above, below)
        };
        Self::of(ratio, false, self.exact && !self.pi)
    }

    /// The exact root, if there is one.
    pub(crate) fn root(&self, degree: u32) -> Option<Self> {
        let exact_root = |number: &BigInt| {
            let root = number.nth_root(degree);
            (root.pow(degree) == *number).then_some(root)
        };
        if !self.is_exact() {
            return None;
        }
        let (above, below) = (
            exact_root(self.ratio.numer())?,
            exact_root(self.ratio.denom())?,
        );
        Some(Self::exact(BigRational::new_raw(above, below)))
    }

    /// Applies a rounding of fractions.
    pub(crate) fn round(&self, how: fn(&BigRational) -> BigRational) -> Self {
        let ratio = how(&self.ratio());
        Self {
            exact: self.is_exact() || ratio.is_zero(),
            ..Self::exact(ratio)
        }
    }

    /// The natural logarithm of a positive number.
    pub(crate) fn ln(&self) -> BigRational {
        let ratio = self.ratio();
        let turns = ratio.numer().bits() as i64 - ratio.denom().bits() as i64;
        let near_one = shifted(ratio.numer(), BITS as i64 - turns.min(0))
            / shifted(ratio.denom(), turns.max(0));
        let one = BigInt::one() << BITS;
        let part: BigInt = ((&near_one - &one) << BITS) / (near_one + one);
        scaled(&(atanh(&part) * 2 + ln_two() * turns), -(BITS as i64))
    }

    /// Euler's number to a power.
    pub(crate) fn exp(power: &BigRational) -> Result<Self, CalculationError> {
        let power = (power.numer() << BITS) / power.denom();
        let turns = power.div_floor(&ln_two());
        let rest = power - &turns * ln_two();
        let turns = match turns.to_i64().filter(|turns| turns.abs() <= MAX_TURNS) {
            Some(turns) => turns,
            None if turns.is_negative() => return Err(CalculationError::Underflow),
            None => return Err(CalculationError::Overflow),
        };
        let one = BigInt::one() << BITS;
        let (mut sum, mut term, mut count) = (one.clone(), one, 1);
        while !term.is_zero() {
            term = ((term * &rest) >> BITS) / count;
            sum += &term;
            count += 1;
        }
        Ok(Self::approximate(scaled(&sum, turns - BITS as i64)))
    }

    fn of(ratio: BigRational, pi: bool, exact: bool) -> Result<Self, CalculationError> {
        let (above, below) = (ratio.numer().bits(), ratio.denom().bits());
        if above.min(below) > MAX_BITS || above.max(below) > 10 * MAX_BITS {
            return Err(CalculationError::OutOfTime(TIME_LIMIT.as_millis()));
        }
        let value = if exact {
            Self::exact(ratio)
        } else {
            Self::approximate(ratio)
        };
        Ok(Self { pi, ..value })
    }
}

impl From<i64> for Real {
    fn from(number: i64) -> Self {
        Self::exact(BigRational::from(BigInt::from(number)))
    }
}

/// A reduced fraction. The library's own reduction is slow for a large and a small number.
pub(crate) fn fraction(above: BigInt, below: BigInt) -> BigRational {
    if below.is_one() {
        return BigRational::from(above);
    }
    let rest = &above % &below;
    let common = if rest.is_zero() {
        below.abs()
    } else {
        (&below % &rest).gcd(&rest)
    };
    let common = if below.is_negative() { -common } else { common };
    BigRational::new_raw(above / &common, below / common)
}

fn shifted(number: &BigInt, bits: i64) -> BigInt {
    if bits < 0 {
        number >> bits.unsigned_abs()
    } else {
        number << bits.unsigned_abs()
    }
}

/// The number times a power of two.
fn scaled(number: &BigInt, power: i64) -> BigRational {
    if power < 0 {
        fraction(number.clone(), BigInt::one() << power.unsigned_abs())
    } else {
        BigRational::from(number << power.unsigned_abs())
    }
}

/// The inverse hyperbolic tangent of a small number, both with so many bits after the point.
fn atanh(part: &BigInt) -> BigInt {
    let square: BigInt = (part * part) >> BITS;
    let (mut sum, mut term, mut count) = (BigInt::zero(), part.clone(), 1);
    while !term.is_zero() && term != BigInt::from(-1) {
        sum += &term / count;
        term = (term * &square) >> BITS;
        count += 2;
    }
    sum
}

fn ln_two() -> BigInt {
    atanh(&((BigInt::one() << BITS) / 3)) * 2
}

/// The bits after the point of logarithms and powers.
const BITS: u64 = 256;

/// The most bits on both sides of a fraction bar; more would take too long to reduce.
const MAX_BITS: u64 = 150_000;

/// The most bits before or after the point that a power has: a little more than 10,000 digits.
const MAX_TURNS: i64 = 33_300;

const PI: &str =
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899";
