//! Requirements on parameters that are not strict.

use std::sync::Arc;

use jackfield_dialect_kit::schema::{Change, Changes, member, object};
use jackfield_domain::note::NoteEffect;
use serde_json::{Map, Value, json};

/// Keywords that are not permitted at the root.
const NOT_AT_ROOT: [&str; 5] = ["allOf", "anyOf", "enum", "not", "oneOf"];

/// The schema of parameters in the form that the vendor accepts, and the changes.
///
/// It is the [schema of an object](object) with `properties`, without a choice at its root, in which every array
/// has `items`. Otherwise the vendor answers 400, strict or not.
#[must_use]
pub fn rooted(schema: &Arc<Value>) -> (Arc<Value>, Vec<Change>) {
    let (schema, mut changes) = object(schema, &NOT_AT_ROOT);
    if is_whole(&schema) {
        return (schema, changes);
    }
    let mut more = Changes::default();
    let mut fields = match Arc::unwrap_or_clone(schema) {
        Value::Object(fields) => fields,
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
            Map::new()
        }
    };
    if !fields.get("properties").is_some_and(Value::is_object) {
        more.push(NoteEffect::Cosmetic, "schema_properties_added", "");
        fields.insert("properties".to_owned(), json!({}));
    }
    fill_arrays(&mut fields, "", &mut more);
    changes.extend(more.into_vec());
    (Arc::new(Value::Object(fields)), changes)
}

/// Whether a schema has properties, and every array in it has `items`.
fn is_whole(schema: &Value) -> bool {
    let has_properties = schema.get("properties").is_some_and(Value::is_object);
    has_properties && schema.as_object().is_some_and(has_filled_arrays)
}

/// Whether every array has `items`, in all places where they would be added. Iterates over each field once: lookups
/// by name took longer than all the rest.
fn has_filled_arrays(fields: &Map<String, Value>) -> bool {
    let is_filled = |schema: &Value| schema.as_object().is_none_or(has_filled_arrays);
    let (mut is_array, mut says_items) = (false, false);
    for (key, value) in fields {
        let is_filled = match key.as_str() {
            "$defs" | "definitions" | "properties" => {
                let schemas = value.as_object();
                schemas.is_none_or(|schemas| schemas.values().all(is_filled))
            }
            "additionalProperties" => is_filled(value),
            "allOf" | "anyOf" | "oneOf" => {
                let branches = value.as_array();
                branches.is_none_or(|branches| branches.iter().all(is_filled))
            }
            "items" => {
                says_items = true;
                is_filled(value)
            }
            "type" => {
                is_array = names_array(value);
                true
            }
            _ => true,
        };
        if !is_filled {
            return false;
        }
    }
    says_items || !is_array
}

fn names_array(kind: &Value) -> bool {
    let kinds = kind.as_array();
    kind == "array" || kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
}

/// Gives every array without `items` an unconstrained one.
fn fill_arrays(fields: &mut Map<String, Value>, pointer: &str, changes: &mut Changes) {
    if fields.get("type").is_some_and(names_array) && !fields.contains_key("items") {
        changes.push(NoteEffect::Cosmetic, "schema_items_added", pointer);
        fields.insert("items".to_owned(), json!({}));
    }
    for key in ["$defs", "definitions", "properties"] {
        let pointer = member(pointer, key);
        let named = fields.get_mut(key).and_then(Value::as_object_mut);
        for (name, schema) in named.into_iter().flatten() {
            if let Some(fields) = schema.as_object_mut() {
                fill_arrays(fields, &member(&pointer, name), changes);
            }
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let pointer = member(pointer, key);
        let variants = fields.get_mut(key).and_then(Value::as_array_mut);
        for (n, schema) in variants.into_iter().flatten().enumerate() {
            if let Some(fields) = schema.as_object_mut() {
                fill_arrays(fields, &format!("{pointer}/{n}"), changes);
            }
        }
    }
    for key in ["additionalProperties", "items"] {
        let schema = fields.get_mut(key).and_then(Value::as_object_mut);
        if let Some(schema) = schema {
            fill_arrays(schema, &member(pointer, key), changes);
        }
    }
}
