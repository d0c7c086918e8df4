//! Formats a result for people: all digits of an exact one, fifteen of an approximate one.

use num::{BigInt, Integer as _, Signed as _, Zero as _};

use super::real::Real;

/// A formatted result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct WrittenResult {
    /// The number and its unit.
    pub(crate) text: String,
    /// Whether all digits are shown.
    pub(crate) exact: bool,
}

/// Formats a number.
///
/// Exact numbers of up to `max_digits` digits are written in full, longer ones in scientific notation; approximate
/// numbers only have their reliable digits.
pub(crate) fn write(number: &Real, max_digits: usize) -> WrittenResult {
    let all = number.is_exact().then(|| Decimal::of(number, max_digits));
    let all = all.filter(|(_, rest)| !rest).map(|(decimal, _)| decimal);
    let exact = all.is_some();
    let decimal = all.unwrap_or_else(|| Decimal::of(number, RELIABLE_DIGITS).0);
    let plain = if exact {
        decimal.length() <= max_digits
    } else {
        PLAIN_POINTS.contains(&decimal.point)
    };
    let sign = if number.is_negative() { "-" } else { "" };
    let written = if plain {
        decimal.plain()
    } else {
        decimal.scientific()
    };
    WrittenResult {
        text: format!("{sign}{written}"),
        exact,
    }
}

/// `0.digits · 10^point`, without zeros at either end.
struct Decimal {
    digits: String,
    point: i64,
}

impl Decimal {
    /// The first digits of a number's absolute value, rounded, and whether something is left after them.
    fn of(number: &Real, count: usize) -> (Self, bool) {
        let ratio = number.ratio();
        if ratio.is_zero() {
            let (digits, point) = (String::new(), 1);
            return (Self { digits, point }, false);
        }
        // The logarithm may be off by one near a power of ten: then there is one digit more.
        let mut point = number.log10().floor() as i64 + 1;
        let ten = BigInt::from(10);
        let shift = i64::try_from(count).unwrap_or(0) - point;
        let power = ten.pow(u32::try_from(shift.unsigned_abs()).unwrap_or(0));
        let (mut above, mut below) = (ratio.numer().abs(), ratio.denom().clone());
        if shift < 0 {
            below *= power;
        } else {
            above *= power;
        }
        let (mut digits, mut rest) = above.div_rem(&below);
        let length = digits.to_string().len();
        if length != count {
            if length > count {
                below *= 10;
                point += 1;
            } else {
                above *= 10;
                point -= 1;
            }
            (digits, rest) = above.div_rem(&below);
        }
        let has_rest = !rest.is_zero();
        if rest * 2 >= below {
            digits += 1;
        }
        let digits = digits.to_string();
        point += i64::from(digits.len() > count);
        let digits = digits.trim_end_matches('0').to_owned();
        (Self { digits, point }, has_rest)
    }

    /// Returns the number of digits in plain notation.
    fn length(&self) -> usize {
        let digits = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        let length = if self.point <= 0 {
            digits - self.point
        } else {
            digits.max(self.point)
        };
        usize::try_from(length).unwrap_or(usize::MAX)
    }

    fn plain(&self) -> String {
        let Ok(point) = usize::try_from(self.point) else {
            let zeros = usize::try_from(-self.point).unwrap_or(0);
            return format!("0.{}{}", "0".repeat(zeros), self.digits);
        };
        match self.digits.split_at_checked(point) {
            Some(("", decimals)) => format!("0.{decimals}"),
            Some((whole, "")) => whole.to_owned(),
            Some((whole, decimals)) => format!("{whole}.{decimals}"),
            None => format!("{:0<point$}", self.digits),
        }
    }

    fn scientific(&self) -> String {
        let (first, rest) = self.digits.split_at_checked(1).unwrap_or(("0", ""));
        let point = if rest.is_empty() { "" } else { "." };
        format!("{first}{point}{rest}e{}", self.point - 1)
    }
}

/// The number of reliable digits of an approximate result.
const RELIABLE_DIGITS: usize = 15;

/// The positions of the decimal point for which an approximate result has no exponent.
const PLAIN_POINTS: std::ops::RangeInclusive<i64> = -5..=21;
