//! The enforceable subset of JSON Schema, for output formats and strict tools.

use jackfield_dialect_kit::{metaschema, pointer};
use serde_json::Value;

use super::{Found, Rule};
use crate::place::Place;

const KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "description",
    "enum",
    "format",
    "items",
    "minItems",
    "properties",
    "required",
    "title",
    "type",
];

const FORMATS: &[&str] = &[
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

impl Found<'_> {
    pub(super) fn schema(&mut self, schema: &Value, place: &Place) {
        let Some(fields) = self.object(schema, place) else {
            return;
        };
        for key in fields
            .keys()
            .filter(|key| !KEYWORDS.contains(&key.as_str()))
        {
            self.broken(&place.at(key), Rule::SchemaSubset);
        }
        let says = ["type", "anyOf", "allOf", "enum", "const", "$ref"];
        let typed = says.iter().any(|key| fields.contains_key(*key));
        self.check(typed, place, Rule::SchemaSubset);
        if fields.get("type").is_some_and(|kind| kind == "object") {
            let closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
            self.check(
                closed,
                &place.at("additionalProperties"),
                Rule::SchemaSubset,
            );
        }
        if let Some(format) = fields.get("format") {
            let known = format.as_str().is_some_and(|f| FORMATS.contains(&f));
            self.check(known, &place.at("format"), Rule::SchemaSubset);
        }
        if let Some(least) = fields.get("minItems") {
            let sound = matches!(least.as_u64(), Some(0 | 1));
            self.check(sound, &place.at("minItems"), Rule::SchemaSubset);
        }
        for key in ["properties", "$defs"] {
            for (name, schema) in fields
                .get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                self.schema(schema, &place.at(key).at(name));
            }
        }
        for key in ["anyOf", "allOf"] {
            let variants = fields.get(key).and_then(Value::as_array);
            for (n, schema) in variants.into_iter().flatten().enumerate() {
                self.schema(schema, &place.at(key).at(n));
            }
        }
        if let Some(items) = fields.get("items") {
            self.schema(items, &place.at("items"));
        }
    }

    /// The schema of a tool's arguments: an object's, and within the subset only if it is strict.
    pub(super) fn input_schema(&mut self, schema: &Value, strict: bool, place: &Place) {
        let Some(fields) = self.object(schema, place) else {
            return;
        };
        let rooted = fields.get("type").is_some_and(|kind| kind == "object");
        self.check(rooted, &place.at("type"), Rule::WrongValue);
        for key in NOT_AT_ROOT {
            let absent = !fields.contains_key(*key);
            self.check(absent, &place.at(key), Rule::SchemaRoot);
        }
        // The vendor accepts null for these two keywords.
        let is_null = |key: &str| fields.get(key) == Some(&Value::Null);
        let taken: Vec<&str> = ["properties", "required"]
            .into_iter()
            .filter(|key| is_null(key))
            .collect();
        for pointer in metaschema::faults(schema) {
            if !taken.contains(&pointer.trim_start_matches('/')) {
                let tokens = pointer::tokens(&pointer).unwrap_or_default();
                let place = tokens
                    .iter()
                    .fold(place.clone(), |place, token| place.at(token));
                self.broken_as_well(&place, Rule::Schema);
            }
        }
        self.property_names(schema, place);
        if strict {
            self.schema(schema, place);
        }
    }

    fn property_names(&mut self, schema: &Value, place: &Place) {
        let fields = schema.as_object();
        for (key, value) in fields.into_iter().flatten() {
            let named = value.as_object().filter(|_| NAMED.contains(&key.as_str()));
            for (name, schema) in named.into_iter().flatten() {
                let place = place.at(key).at(name);
                let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
                let sound = (1..=64).contains(&name.len()) && name.chars().all(fits);
                self.check(sound || key != "properties", &place, Rule::PropertyName);
                self.property_names(schema, &place);
            }
            for (n, schema) in value.as_array().into_iter().flatten().enumerate() {
                self.property_names(schema, &place.at(key).at(n));
            }
            if value.is_object() && named.is_none() && !DATA.contains(&key.as_str()) {
                self.property_names(value, &place.at(key));
            }
        }
    }
}

/// Keywords whose value is data.
const DATA: &[&str] = &["const", "default", "examples"];
/// Keywords whose value is a map of schemas.
const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Keywords that are not permitted at the root of a tool's schema.
const NOT_AT_ROOT: &[&str] = &["allOf", "anyOf", "oneOf"];
