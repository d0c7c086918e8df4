//! Formats a result for people: all digits of an exact one, fifteen of an approximate one.

use super::fault::CalculationError;

/// A formatted result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct WrittenResult {
    /// The number and its unit.
    pub(crate) text: String,
    /// Whether all digits are shown.
    pub(crate) exact: bool,
}

/// Formats the engine's text of a result, divided by a power of ten.
///
/// Exact numbers of up to `max_digits` digits are written in full, longer ones in scientific notation; approximate
/// numbers only have their reliable digits.
pub(crate) fn write(
    engine_text: &str,
    power_of_ten: i64,
    max_digits: usize,
) -> Result<WrittenResult, CalculationError> {
    let (exact, rest) = match engine_text.strip_prefix("approx. ") {
        Some(rest) => (false, rest),
        None => (true, engine_text),
    };
    let (negative, rest) = match rest.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let length = rest
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(rest.len());
    let (number, unit) = rest.split_at(length);
    let unit = unit.trim();
    if number.is_empty() || unit == "i" || unit.starts_with(['+', '-']) {
        return Err(CalculationError::domain("the result is not a real number"));
    }
    let decimal = Decimal::read(number).shifted(power_of_ten);
    let decimal = if exact {
        decimal
    } else {
        decimal.rounded(RELIABLE_DIGITS)
    };
    let plain = if exact {
        decimal.length() <= max_digits
    } else {
        PLAIN_POINTS.contains(&decimal.point)
    };
    let written = if plain {
        decimal.plain()
    } else {
        decimal.scientific()
    };
    let sign = if negative && !decimal.digits.is_empty() {
        "-"
    } else {
        ""
    };
    let unit = match unit {
        "" => String::new(),
        "degs" => " deg".to_owned(),
        other => format!(" {}", other.replace(" / ", "/")),
    };
    Ok(WrittenResult {
        text: format!("{sign}{written}{unit}"),
        exact,
    })
}

/// `0.digits · 10^point`, without zeros at either end.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    fn read(number: &str) -> Self {
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let digits = whole
            .bytes()
            .chain(decimals.bytes())
            .map(|byte| byte - b'0');
        Self {
            digits: digits.collect(),
            point: i64::try_from(whole.len()).unwrap_or(i64::MAX),
        }
        .trimmed()
    }

    fn trimmed(mut self) -> Self {
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..leading);
        self.point -= i64::try_from(leading).unwrap_or(0);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            self.point = 1;
        }
        self
    }

    fn shifted(mut self, power_of_ten: i64) -> Self {
        if !self.digits.is_empty() {
            self.point += power_of_ten;
        }
        self
    }

    fn rounded(mut self, count: usize) -> Self {
        let Some(next) = self.digits.get(count).copied() else {
            return self;
        };
        self.digits.truncate(count);
        if next >= 5 {
            let mut carry = true;
            for digit in self.digits.iter_mut().rev() {
                *digit = if *digit == 9 { 0 } else { *digit + 1 };
                carry = *digit == 0;
                if !carry {
                    break;
                }
            }
            if carry {
                self.digits.insert(0, 1);
                self.point += 1;
            }
        }
        self.trimmed()
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
        let mut text = String::new();
        if self.point <= 0 {
            text.push_str("0.");
            text.extend((self.point..0).map(|_| '0'));
        }
        let point = usize::try_from(self.point).unwrap_or(0);
        for (index, digit) in self.digits.iter().enumerate() {
            if index > 0 && index == point {
                text.push('.');
            }
            text.push(char::from(b'0' + digit));
        }
        text.extend((self.digits.len()..point).map(|_| '0'));
        text
    }

    fn scientific(&self) -> String {
        let mut text = String::new();
        for (index, digit) in self.digits.iter().enumerate() {
            if index == 1 {
                text.push('.');
            }
            text.push(char::from(b'0' + digit));
        }
        format!("{text}e{}", self.point - 1)
    }
}

/// The number of reliable digits of an approximate result.
const RELIABLE_DIGITS: usize = 15;

/// The positions of the decimal point for which an approximate result has no exponent.
const PLAIN_POINTS: std::ops::RangeInclusive<i64> = -5..=21;
