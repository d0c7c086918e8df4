//! Paths in a body, and the checks that all vendors share.

use std::fmt::{self, Display};

use serde_json::{Map, Value};
use thiserror::Error;

/// A violation of a rule, and its place.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{path}: {rule}")]
pub struct Violation<R> {
    /// The path in the body, such as `messages.0.content.1.text`.
    pub path: String,
    pub rule: R,
}

/// A path in a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(String);

impl Place {
    pub(crate) fn at(&self, step: impl Display) -> Self {
        if self.0.is_empty() {
            Self(step.to_string())
        } else {
            Self(format!("{}.{step}", self.0))
        }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rules that every vendor has, each in its own words.
pub(crate) trait CommonRules: PartialEq {
    /// A field that must have contents is empty.
    const EMPTY: Self;
    /// A required field is missing.
    const MISSING: Self;
    /// The field does not exist.
    const UNKNOWN_FIELD: Self;
    /// A value has the wrong type.
    const WRONG_TYPE: Self;
    /// A value is not one of the permitted ones.
    const WRONG_VALUE: Self;
}

/// The violations so far of a vendor's rules `R`, for a model or server with the profile `P`.
#[derive(Debug)]
pub(crate) struct Found<'a, P, R> {
    pub(crate) profile: &'a P,
    pub(crate) violations: Vec<Violation<R>>,
}

impl<'a, P, R: CommonRules> Found<'a, P, R> {
    pub(crate) const fn new(profile: &'a P) -> Self {
        Self {
            profile,
            violations: Vec::new(),
        }
    }

    /// Adds a violation, unless there is an equal one.
    pub(crate) fn broken(&mut self, place: &Place, rule: R) {
        let violation = Violation {
            path: place.to_string(),
            rule,
        };
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    /// Adds a violation, unless there is one with the same path.
    pub(crate) fn broken_as_well(&mut self, place: &Place, rule: R) {
        if !self.violations.iter().any(|known| known.path == place.0) {
            self.broken(place, rule);
        }
    }

    pub(crate) fn check(&mut self, sound: bool, place: &Place, rule: R) {
        if !sound {
            self.broken(place, rule);
        }
    }

    pub(crate) fn object<'v>(
        &mut self,
        value: &'v Value,
        place: &Place,
    ) -> Option<&'v Map<String, Value>> {
        self.check(value.is_object(), place, R::WRONG_TYPE);
        value.as_object()
    }

    pub(crate) fn array<'v>(&mut self, value: &'v Value, place: &Place) -> Option<&'v Vec<Value>> {
        self.check(value.is_array(), place, R::WRONG_TYPE);
        value.as_array()
    }

    pub(crate) fn text<'v>(&mut self, value: &'v Value, place: &Place) -> Option<&'v str> {
        self.check(value.is_string(), place, R::WRONG_TYPE);
        value.as_str()
    }

    /// A string that is not blank.
    pub(crate) fn words(&mut self, value: &Value, place: &Place) {
        if let Some(text) = self.text(value, place) {
            self.check(!text.trim().is_empty(), place, R::EMPTY);
        }
    }

    pub(crate) fn boolean(&mut self, value: &Value, place: &Place) {
        self.check(value.is_boolean(), place, R::WRONG_TYPE);
    }

    pub(crate) fn one_of(&mut self, value: &Value, place: &Place, values: &[&str]) {
        if let Some(text) = self.text(value, place) {
            self.check(values.contains(&text), place, R::WRONG_VALUE);
        }
    }

    pub(crate) fn known_fields(
        &mut self,
        fields: &Map<String, Value>,
        place: &Place,
        known: &[&str],
    ) {
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            self.broken(&place.at(key), R::UNKNOWN_FIELD);
        }
    }

    pub(crate) fn required(&mut self, fields: &Map<String, Value>, place: &Place, keys: &[&str]) {
        for key in keys.iter().filter(|key| !fields.contains_key(**key)) {
            self.broken(&place.at(key), R::MISSING);
        }
    }
}

/// A field that exists and is not null.
pub(crate) fn said<'v>(fields: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    fields.get(key).filter(|value| !value.is_null())
}

/// The string in a field; empty if there is none.
pub(crate) fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
