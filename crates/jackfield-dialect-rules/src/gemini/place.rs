//! Paths in a body, and general checks.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::{Found, Rule, Violation};

/// A path in a body.
#[derive(Clone, Debug)]
pub(super) struct Place(String);

impl Place {
    pub(super) const fn root() -> Self {
        Self(String::new())
    }

    pub(super) fn at(&self, step: impl Display) -> Self {
        if self.0.is_empty() {
            Self(step.to_string())
        } else {
            Self(format!("{}.{step}", self.0))
        }
    }
}

impl Found<'_> {
    pub(super) fn broken(&mut self, place: &Place, rule: Rule) {
        self.violations.push(Violation {
            path: place.0.clone(),
            rule,
        });
    }

    pub(super) fn check(&mut self, sound: bool, place: &Place, rule: Rule) {
        if !sound {
            self.broken(place, rule);
        }
    }

    pub(super) fn object<'v>(
        &mut self,
        value: &'v Value,
        place: &Place,
    ) -> Option<&'v Map<String, Value>> {
        self.check(value.is_object(), place, Rule::WrongType);
        value.as_object()
    }

    pub(super) fn array<'v>(&mut self, value: &'v Value, place: &Place) -> Option<&'v Vec<Value>> {
        self.check(value.is_array(), place, Rule::WrongType);
        value.as_array()
    }

    pub(super) fn text<'v>(&mut self, value: &'v Value, place: &Place) -> Option<&'v str> {
        self.check(value.is_string(), place, Rule::WrongType);
        value.as_str()
    }

    pub(super) fn boolean(&mut self, value: &Value, place: &Place) {
        self.check(value.is_boolean(), place, Rule::WrongType);
    }

    /// One of these strings.
    pub(super) fn one_of(&mut self, value: &Value, place: &Place, values: &[&str]) {
        if let Some(text) = self.text(value, place) {
            self.check(values.contains(&text), place, Rule::WrongValue);
        }
    }

    pub(super) fn known_fields(
        &mut self,
        fields: &Map<String, Value>,
        place: &Place,
        known: &[&str],
    ) {
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            self.broken(&place.at(key), Rule::UnknownField);
        }
    }

    pub(super) fn required(&mut self, fields: &Map<String, Value>, place: &Place, keys: &[&str]) {
        for key in keys.iter().filter(|key| !fields.contains_key(**key)) {
            self.broken(&place.at(key), Rule::Missing);
        }
    }
}

/// A field that exists and is not null.
pub(super) fn said<'v>(fields: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    fields.get(key).filter(|value| !value.is_null())
}

/// The string in a field; empty if there is none.
pub(super) fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
