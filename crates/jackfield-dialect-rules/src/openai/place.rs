//! Paths in a body.

use std::fmt::{self, Display};

use jackfield_dialect_openai::profile::Profile;
use serde_json::{Map, Value};

use super::{Found, Rule, Violation};

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

impl<'a> Found<'a> {
    pub(crate) const fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            violations: Vec::new(),
        }
    }

    pub(crate) fn broken(&mut self, place: &Place, rule: Rule) {
        let violation = Violation {
            path: place.to_string(),
            rule,
        };
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    /// Adds a violation, unless there is one with the same path.
    pub(crate) fn broken_as_well(&mut self, place: &Place, rule: Rule) {
        if !self.violations.iter().any(|known| known.path == place.0) {
            self.broken(place, rule);
        }
    }

    pub(crate) fn check(&mut self, sound: bool, place: &Place, rule: Rule) {
        if !sound {
            self.broken(place, rule);
        }
    }

    /// A field that the profile has to support.
    pub(crate) fn taken(
        &mut self,
        fields: &Map<String, Value>,
        key: &str,
        taken: bool,
        place: &Place,
    ) {
        let sound = taken || said(fields, key).is_none();
        self.check(sound, &place.at(key), Rule::NotTaken);
    }

    pub(crate) fn object<'v>(
        &mut self,
        value: &'v Value,
        place: &Place,
    ) -> Option<&'v Map<String, Value>> {
        self.check(value.is_object(), place, Rule::WrongType);
        value.as_object()
    }

    /// The elements of an array, which must not be empty.
    pub(crate) fn some<'v>(&mut self, value: &'v Value, place: &Place) -> &'v [Value] {
        match value.as_array() {
            Some(list) => {
                self.check(!list.is_empty(), place, Rule::Empty);
                list
            }
            None => {
                self.broken(place, Rule::WrongType);
                &[]
            }
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
