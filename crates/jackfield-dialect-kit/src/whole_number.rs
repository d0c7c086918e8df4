//! Integers in the forms that clients write: `1000`, `1e3` and `1000.0` are equal.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};
use serde_json::Value;

/// Deserializes an integer.
///
/// # Errors
///
/// Those of the deserializer, and an error if the value is not a number, not an integer, or out of range.
pub fn number<'de, D: Deserializer<'de>, T: TryFrom<i128>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Whole(PhantomData))
}

/// Deserializes an integer, or `null`.
///
/// # Errors
///
/// As [`number`].
pub fn optional<'de, D: Deserializer<'de>, T: TryFrom<i128>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_option(Optional(PhantomData))
}

/// The integer value of a JSON number.
#[must_use]
pub fn from_value(json: &Value) -> Option<i128> {
    let Value::Number(number) = json else {
        return None;
    };
    let whole = number.as_i128();
    whole.or_else(|| exact_integer(number.as_f64()?))
}

/// The value of a number that was written with a fraction or an exponent, if it is an exact integer.
fn exact_integer(number: f64) -> Option<i128> {
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
        match exact_integer(number) {
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

/// The limit up to which floating-point numbers represent all integers exactly: 2⁵³.
const EXACT: f64 = 9_007_199_254_740_992.0;
