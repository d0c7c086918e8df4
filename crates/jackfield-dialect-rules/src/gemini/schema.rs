//! The part of JSON Schema that is honoured.

use jackfield_dialect_kit::{metaschema, pointer};
use serde_json::Value;

use super::{Found, Rule};
use crate::place::Place;

impl Found<'_> {
    /// A schema within `root`, whose references are those of the document.
    pub(super) fn schema(&mut self, schema: &Value, root: &Value, place: &Place) {
        for fault in metaschema::faults(schema) {
            let tokens = pointer::tokens(&fault).unwrap_or_default();
            let place = tokens
                .iter()
                .fold(place.clone(), |place, token| place.at(token));
            self.broken(&place, Rule::Schema);
        }
        self.keywords(schema, root, place);
    }

    fn keywords(&mut self, schema: &Value, root: &Value, place: &Place) {
        let Some(fields) = self.object(schema, place) else {
            return;
        };
        for key in fields.keys() {
            let known = KEYWORDS.contains(&key.as_str());
            self.check(known, &place.at(key), Rule::SchemaSubset);
        }
        if let Some(reference) = fields.get("$ref") {
            let alone = fields.keys().all(|key| key.starts_with('$'));
            self.check(alone, place, Rule::SchemaSubset);
            let name = reference
                .as_str()
                .and_then(|text| text.strip_prefix("#/$defs/"));
            let found = name.and_then(|name| root.get("$defs")?.get(name));
            self.check(found.is_some(), &place.at("$ref"), Rule::SchemaSubset);
        }
        for value in fields
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let listable = value.is_string() || value.is_number();
            self.check(listable, &place.at("enum"), Rule::SchemaSubset);
        }
        for key in ["$defs", "properties"] {
            let schemas = fields.get(key).and_then(Value::as_object);
            for (name, schema) in schemas.into_iter().flatten() {
                self.keywords(schema, root, &place.at(key).at(name));
            }
        }
        for key in ["anyOf", "oneOf", "prefixItems"] {
            let schemas = fields.get(key).and_then(Value::as_array);
            for (n, schema) in schemas.into_iter().flatten().enumerate() {
                self.keywords(schema, root, &place.at(key).at(n));
            }
        }
        for key in ["additionalProperties", "items"] {
            if let Some(schema) = fields.get(key).filter(|schema| !schema.is_boolean()) {
                self.keywords(schema, root, &place.at(key));
            }
        }
    }
}

const KEYWORDS: &[&str] = &[
    "$anchor",
    "$defs",
    "$id",
    "$ref",
    "additionalProperties",
    "anyOf",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "oneOf",
    "prefixItems",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
];
