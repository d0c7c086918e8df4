//! What parameters that are not strict have to be all the same.

use std::sync::Arc;

use jackfield_dialect_kit::schema::{Change, Changes, member};
use jackfield_domain::note::NoteEffect;
use serde_json::{Map, Value, json};

/// What may not stand at the root.
const NOT_AT_ROOT: [&str; 5] = ["allOf", "anyOf", "enum", "not", "oneOf"];

/// The schema of parameters as the vendor takes it, and where it differs.
///
/// The root says that it is an object's and has `properties`; no choice stands there, so the properties of
/// its branches are offered together and the choice goes into the description; and every array says what
/// it holds. Otherwise the answer is 400, strict or not.
#[must_use]
pub fn rooted(schema: &Arc<Value>) -> (Arc<Value>, Vec<Change>) {
    if is_rooted(schema) {
        return (Arc::clone(schema), Vec::new());
    }
    let mut changes = Changes::default();
    let mut fields = match &**schema {
        Value::Object(fields) => fields.clone(),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
            let effect = if **schema == Value::Bool(true) {
                NoteEffect::Cosmetic
            } else {
                NoteEffect::Meaning
            };
            changes.push(effect, "schema_root_made_object", "");
            Map::from_iter([("type".to_owned(), json!("object"))])
        }
    };
    if fields.get("type") != Some(&json!("object")) {
        let loses = fields.get("type").is_some_and(|kind| !names_object(kind));
        let effect = if loses {
            NoteEffect::Meaning
        } else {
            NoteEffect::Cosmetic
        };
        changes.push(effect, "schema_root_made_object", "");
        fields.insert("type".to_owned(), json!("object"));
    }
    open_choice(&mut fields, &mut changes);
    if !fields.get("properties").is_some_and(Value::is_object) {
        changes.push(NoteEffect::Cosmetic, "schema_properties_added", "");
        fields.insert("properties".to_owned(), json!({}));
    }
    fill_arrays(&mut fields, "", &mut changes);
    (Arc::new(Value::Object(fields)), changes.into_vec())
}

/// Whether a schema is taken as it is. Most are, and are sent with every request: so it is only looked at.
fn is_rooted(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else {
        return false;
    };
    fields.get("type").is_some_and(|kind| kind == "object")
        && fields.get("properties").is_some_and(Value::is_object)
        && !NOT_AT_ROOT.iter().any(|key| fields.contains_key(*key))
        && has_filled_arrays(fields)
}

/// Whether every array says what it holds, in all places where that is filled in otherwise. Each field is
/// looked at once, where it stands: to look for them by name took longer than all the rest.
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

fn names_object(kind: &Value) -> bool {
    let kinds = kind.as_array();
    kind == "object" || kinds.is_some_and(|kinds| kinds.contains(&json!("object")))
}

/// Takes a choice off the root: the properties of all branches are offered.
fn open_choice(fields: &mut Map<String, Value>, changes: &mut Changes) {
    let mut taken = Map::new();
    for key in NOT_AT_ROOT {
        if let Some(value) = fields.shift_remove(key) {
            taken.insert(key.to_owned(), value);
        }
    }
    let mut offered = Map::new();
    for key in ["allOf", "anyOf", "oneOf"] {
        let branches = taken.get(key).and_then(Value::as_array);
        for branch in branches.into_iter().flatten() {
            let properties = branch.get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                offered.entry(name).or_insert_with(|| schema.clone());
            }
        }
    }
    let own = fields.get_mut("properties").and_then(Value::as_object_mut);
    match own {
        Some(own) => {
            for (name, schema) in offered {
                own.entry(name).or_insert(schema);
            }
        }
        None if offered.is_empty() => {}
        None => {
            fields.insert("properties".to_owned(), Value::Object(offered));
        }
    }
    changes.describe(taken, fields, "");
}

/// Gives every array that says nothing of its items the schema of anything.
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
