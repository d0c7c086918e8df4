//! Rules for schemas of parameters, and for the strict subset.

use jackfield_dialect_kit::{metaschema, pointer};
use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::Place;

/// The keywords of the subset.
const KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
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
    "ipv4",
    "ipv6",
    "uuid",
];

const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "object", "array", "null",
];

const NUMBERS: &[&str] = &[
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
];

impl Found<'_> {
    /// The schema of a function's parameters.
    pub(crate) fn parameters(&mut self, schema: &Value, strict: bool, place: &Place) {
        let Some(fields) = self.object(schema, place) else {
            return;
        };
        self.object_at_root(fields, place);
        let properties = fields.get("properties").is_some_and(Value::is_object);
        self.check(properties, &place.at("properties"), Rule::SchemaRoot);
        self.arrays(fields, place);
        if strict {
            self.strict(schema, place);
        }
        for pointer in metaschema::faults(schema) {
            let tokens = pointer::tokens(&pointer).unwrap_or_default();
            let place = tokens
                .iter()
                .fold(place.clone(), |place, token| place.at(token));
            self.broken_as_well(&place, Rule::Schema);
        }
    }

    /// The schema of a structured answer.
    pub(crate) fn answer(&mut self, schema: &Value, strict: bool, place: &Place) {
        let Some(fields) = self.object(schema, place) else {
            return;
        };
        if strict {
            self.object_at_root(fields, place);
            self.strict(schema, place);
        }
    }

    fn object_at_root(&mut self, fields: &Map<String, Value>, place: &Place) {
        let object = fields.get("type").is_some_and(|kind| kind == "object");
        self.check(object, &place.at("type"), Rule::SchemaRoot);
        for key in ["allOf", "anyOf", "enum", "not", "oneOf"] {
            let absent = !fields.contains_key(key);
            self.check(absent, &place.at(key), Rule::SchemaRoot);
        }
    }

    /// Every array has `items`.
    fn arrays(&mut self, fields: &Map<String, Value>, place: &Place) {
        let kinds = fields.get("type").map(list_of).unwrap_or_default();
        let sound = !kinds.contains(&"array") || fields.contains_key("items");
        self.check(sound, &place.at("items"), Rule::SchemaRoot);
        for (schema, place) in below(fields, place) {
            if let Some(fields) = schema.as_object() {
                self.arrays(fields, &place);
            }
        }
    }

    fn strict(&mut self, schema: &Value, place: &Place) {
        let Some(fields) = schema.as_object() else {
            self.broken(place, Rule::SchemaSubset);
            return;
        };
        for key in fields.keys() {
            let known = KEYWORDS.contains(&key.as_str());
            self.check(known, &place.at(key), Rule::SchemaSubset);
        }
        let kinds = fields.get("type").map(list_of).unwrap_or_default();
        let typed = !kinds.is_empty() && kinds.iter().all(|kind| TYPES.contains(kind));
        let chosen = fields.contains_key("anyOf") || fields.contains_key("$ref");
        self.check(typed || chosen, &place.at("type"), Rule::SchemaSubset);
        if fields.contains_key("$ref") {
            self.check(fields.len() == 1, place, Rule::SchemaSubset);
        }
        if kinds.contains(&"object") {
            self.strict_object(fields, place);
        }
        if kinds.contains(&"array") {
            let sound = fields.contains_key("items");
            self.check(sound, &place.at("items"), Rule::SchemaSubset);
        }
        if let Some(format) = fields.get("format") {
            let known = format.as_str().is_some_and(|f| FORMATS.contains(&f));
            self.check(known, &place.at("format"), Rule::SchemaSubset);
        }
        for key in NUMBERS {
            let sound = fields.get(*key).is_none_or(Value::is_number);
            self.check(sound, &place.at(key), Rule::SchemaSubset);
        }
        if let Some(values) = fields.get("enum") {
            let sound = values.as_array().is_some_and(|values| !values.is_empty());
            self.check(sound, &place.at("enum"), Rule::SchemaSubset);
        }
        for (schema, place) in below(fields, place) {
            self.strict(schema, &place);
        }
    }

    fn strict_object(&mut self, fields: &Map<String, Value>, place: &Place) {
        let closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
        let at = place.at("additionalProperties");
        self.check(closed, &at, Rule::SchemaSubset);
        let properties = fields.get("properties").and_then(Value::as_object);
        let at = place.at("properties");
        self.check(properties.is_some(), &at, Rule::SchemaSubset);
        let required = fields.get("required").map(list_of).unwrap_or_default();
        let all = properties.is_none_or(|properties| {
            properties.len() == required.len()
                && required.iter().all(|name| properties.contains_key(*name))
        });
        self.check(all, &place.at("required"), Rule::SchemaSubset);
    }
}

/// The direct subschemas of a schema.
fn below<'v>(fields: &'v Map<String, Value>, place: &Place) -> Vec<(&'v Value, Place)> {
    let mut found = Vec::new();
    for key in ["$defs", "properties"] {
        let named = fields.get(key).and_then(Value::as_object);
        let named = named.into_iter().flatten();
        found.extend(named.map(|(name, schema)| (schema, place.at(key).at(name))));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let variants = fields.get(key).and_then(Value::as_array);
        let variants = variants.into_iter().flatten().enumerate();
        found.extend(variants.map(|(n, schema)| (schema, place.at(key).at(n))));
    }
    found.extend(fields.get("items").map(|items| (items, place.at("items"))));
    found
}

/// A string as a list of one, or the strings of a list.
fn list_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}
