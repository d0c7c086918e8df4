//! The subset of JSON Schema that can be enforced: output formats and strict tools.

use serde_json::{Map, Value};

use super::place::Place;
use super::{Found, Rule};

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

    /// The schema of a tool's arguments: an object's, and in the subset only if it is to be enforced.
    pub(super) fn input_schema(&mut self, schema: &Value, strict: bool, place: &Place) {
        let Some(fields) = self.object(schema, place) else {
            return;
        };
        let rooted = fields.get("type").is_some_and(|kind| kind == "object");
        self.check(rooted, &place.at("type"), Rule::WrongValue);
        self.optional_form(fields, "properties", Value::is_object, place);
        self.optional_form(fields, "required", Value::is_array, place);
        if strict {
            self.schema(schema, place);
        }
    }

    fn optional_form(
        &mut self,
        fields: &Map<String, Value>,
        key: &str,
        form: impl Fn(&Value) -> bool,
        place: &Place,
    ) {
        let sound = fields
            .get(key)
            .is_none_or(|value| value.is_null() || form(value));
        self.check(sound, &place.at(key), Rule::WrongType);
    }
}
