//! Decimal numbers of JSON as exact amounts.

use jackfield_domain::price::Money;

/// The amount of a number of JSON for a token, where the number is for `10^-scale` picos; rounded to the nearest
/// trillionth, as binary fractions leave digits beyond it.
///
/// # Errors
///
/// What is wrong with it, as a part of a sentence.
pub(super) fn amount(text: &str, scale: i32) -> Result<Money, &'static str> {
    let text = text.trim_matches('"');
    if text.starts_with('-') {
        return Err("is negative");
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| NO_NUMBER)?;
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{part}");
    if digits.is_empty()
        || digits.len() > MOST_DIGITS
        || !digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Err(NO_NUMBER);
    }
    let places = i32::try_from(part.len()).map_err(|_| NO_NUMBER)?;
    let shift = exponent.saturating_add(scale).saturating_sub(places);
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(Money::ZERO);
    }
    let length = i32::try_from(digits.len()).map_err(|_| NO_NUMBER)?;
    // One dollar has thirteen digits of picos.
    if length.saturating_add(shift) > 13 {
        return Err(HUGE);
    }
    if length.saturating_add(shift) < 0 {
        return Ok(Money::ZERO);
    }
    let number: u128 = digits.parse().map_err(|_| NO_NUMBER)?;
    let power = 10_u128.pow(shift.unsigned_abs());
    let picos = if shift >= 0 {
        number * power
    } else {
        (number + power / 2) / power
    };
    let picos = u64::try_from(picos).map_err(|_| HUGE)?;
    if picos > DOLLAR {
        return Err(HUGE);
    }
    Ok(Money::from_picos(picos))
}

/// Those of a binary fraction are fewer; with more, powers of ten would not fit.
const MOST_DIGITS: usize = 30;
const NO_NUMBER: &str = "is not a number";
const HUGE: &str = "is more than a dollar for a token";
const DOLLAR: u64 = 1_000_000_000_000;
