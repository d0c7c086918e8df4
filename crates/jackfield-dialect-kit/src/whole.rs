//! Whole numbers, as clients write them: `1000`, `1e3` and `1000.0` are the same.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};
use serde_json::Value;

/// Reads a whole number.
///
/// # Errors
///
/// Those of the reader; also where it is no number, not whole, or out of range.
pub fn number<'de, D: Deserializer<'de>, T: TryFrom<i128>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Whole(PhantomData))
}

/// Reads a whole number, or `null`.
///
/// # Errors
///
/// As [`number`].
pub fn optional<'de, D: Deserializer<'de>, T: TryFrom<i128>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_option(Optional(PhantomData))
}

/// The whole number that a value is.
#[must_use]
pub fn of(json: &Value) -> Option<i128> {
    let Value::Number(number) = json else {
        return None;
    };
    let whole = number.as_i128();
    whole.or_else(|| in_full(number.as_f64()?))
}

/// A number that is whole and known to the last digit, although it was written with a fraction or an exponent.
fn in_full(number: f64) -> Option<i128> {
    let is_exact = number.fract() == 0.0 && number.abs() <= EXACT;
    is_exact.then(|| format!("{number:.0}").parse().ok())?
}

struct Whole<T>(PhantomData<T>);

impl<T: TryFrom<i128>> Whole<T> {
    fn fit<E: Error>(&self, number: i128, unexpected: Unexpected<'_>) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(unexpected, self))
    }
}

impl<T: TryFrom<i128>> Visitor<'_> for Whole<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number in its range")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.fit(number.into(), Unexpected::Signed(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.fit(number.into(), Unexpected::Unsigned(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        let unexpected = Unexpected::Float(number);
        match in_full(number) {
            Some(whole) => self.fit(whole, unexpected),
            None => Err(E::invalid_value(unexpected, &self)),
        }
    }
}

struct Optional<T>(PhantomData<T>);

impl<'de, T: TryFrom<i128>> Visitor<'de> for Optional<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number in its range, or null")
    }

    fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        number(deserializer).map(Some)
    }
}

/// Up to here a number with a fraction is the number that was written: 2⁵³.
const EXACT: f64 = 9_007_199_254_740_992.0;
