//! The subset of JSON Schema that Claude can enforce (the vendor's SDKs, 2026-11: output formats and strict tools).
//!
//! Keywords outside of the subset move into the description, where the model may follow them.

use jackfield_dialect_kit::schema::{Change, Changes, is_primitive, member, sound};
use jackfield_domain::note::NoteEffect;
use serde_json::{Map, Value, json};

/// The string formats that can be enforced.
const FORMATS: [&str; 10] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uri",
    "uuid",
];

/// The schema within the subset that can be enforced, and the changes; `None` if there is no such schema.
#[must_use]
pub fn restrict(schema: &Value) -> Option<(Value, Vec<Change>)> {
    let mut changes = Changes::default();
    let restricted = sub_schema(&sound(schema, &mut changes), "", &mut changes)?;
    Some((restricted, changes.into_vec()))
}

fn sub_schema(schema: &Value, pointer: &str, changes: &mut Changes) -> Option<Value> {
    let mut rest = schema.as_object()?.clone();
    let mut out = Map::new();
    if let Some(Value::Object(defs)) = rest.shift_remove("$defs") {
        let defs = named(&defs, &format!("{pointer}/$defs"), changes)?;
        out.insert("$defs".to_owned(), Value::Object(defs));
    }
    if let Some(target) = rest.shift_remove("$ref") {
        out.insert("$ref".to_owned(), target);
        if !rest.is_empty() {
            changed(changes, "schema_beside_reference", pointer);
        }
        return Some(Value::Object(out));
    }
    if let Some(split) = split_types(&rest) {
        changed(changes, "schema_types_split", pointer);
        rest = split;
    }
    let kind = rest.shift_remove("type");
    let literal = literals(&mut rest, &mut out);
    if literal && kind.is_some() {
        changed(changes, "schema_type_beside_values", pointer);
    }
    let kind = kind.filter(|_| !literal);
    let combined = combine(&mut rest, &mut out, pointer, changes)?;
    if !combined && !literal {
        let known = kind.as_ref().and_then(Value::as_str);
        known.filter(|known| TYPES.contains(known))?;
    }
    if combined && kind.is_some() {
        changed(changes, "schema_type_beside_choice", pointer);
    }
    // Beside a choice, the type's own keywords are only described.
    let kind = kind.filter(|_| !combined);
    if let Some(kind) = &kind {
        out.insert("type".to_owned(), kind.clone());
    }
    for key in ["description", "title"] {
        if let Some(text) = rest.shift_remove(key) {
            out.insert(key.to_owned(), text);
        }
    }
    match kind.as_ref().and_then(Value::as_str) {
        Some("array") => array(&mut rest, &mut out, pointer, changes)?,
        Some("object") => object(&mut rest, &mut out, pointer, changes)?,
        Some("string") => {
            let format = rest.get("format").and_then(Value::as_str);
            if format.is_some_and(|format| FORMATS.contains(&format))
                && let Some(format) = rest.shift_remove("format")
            {
                out.insert("format".to_owned(), format);
            }
        }
        Some(_) | None => {}
    }
    changes.describe(rest, &mut out, pointer);
    Some(Value::Object(out))
}

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Converts a list of types to a choice among them.
fn split_types(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let kinds = fields.get("type")?.as_array()?;
    let chosen = fields.contains_key("anyOf")
        || fields.contains_key("oneOf")
        || fields.contains_key("allOf");
    if chosen || has_literals(fields) {
        return None;
    }
    let mut outer = Map::new();
    let mut inner = fields.clone();
    for key in ["description", "title"] {
        if let Some(text) = inner.shift_remove(key) {
            outer.insert(key.to_owned(), text);
        }
    }
    let variant = |kind: &Value| {
        let mut variant = inner.clone();
        variant.insert("type".to_owned(), kind.clone());
        if kind != "object" && kind != "array" {
            variant.retain(|key, _| {
                !matches!(
                    key.as_str(),
                    "items" | "properties" | "required" | "additionalProperties"
                )
            });
        }
        if kind == "null" {
            variant.retain(|key, _| key == "type");
        }
        Value::Object(variant)
    };
    outer.insert("anyOf".to_owned(), kinds.iter().map(variant).collect());
    Some(outer)
}

fn has_literals(fields: &Map<String, Value>) -> bool {
    let values = fields.get("enum").and_then(Value::as_array);
    values.is_some_and(|values| !values.is_empty() && values.iter().all(is_primitive))
        || fields.get("const").is_some_and(is_primitive)
}

/// Moves `enum` and `const` to the output if all values are primitive.
fn literals(rest: &mut Map<String, Value>, out: &mut Map<String, Value>) -> bool {
    let values = rest.get("enum").and_then(Value::as_array);
    if values.is_some_and(|values| !values.is_empty() && values.iter().all(is_primitive))
        && let Some(values) = rest.shift_remove("enum")
    {
        out.insert("enum".to_owned(), values);
    }
    if rest.get("const").is_some_and(is_primitive)
        && let Some(value) = rest.shift_remove("const")
    {
        out.insert("const".to_owned(), value);
    }
    out.contains_key("enum") || out.contains_key("const")
}

/// Moves one choice to the output; the others are described.
fn combine(
    rest: &mut Map<String, Value>,
    out: &mut Map<String, Value>,
    pointer: &str,
    changes: &mut Changes,
) -> Option<bool> {
    for (key, sent) in [("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")] {
        if !rest.get(key).is_some_and(Value::is_array) {
            continue;
        }
        if key != sent {
            changed(changes, "schema_one_of", pointer);
        }
        let Some(Value::Array(variants)) = rest.shift_remove(key) else {
            continue;
        };
        let mut restricted = Vec::with_capacity(variants.len());
        for (n, variant) in variants.iter().enumerate() {
            restricted.push(sub_schema(
                variant,
                &format!("{pointer}/{key}/{n}"),
                changes,
            )?);
        }
        out.insert(sent.to_owned(), Value::Array(restricted));
        return Some(true);
    }
    Some(false)
}

fn object(
    rest: &mut Map<String, Value>,
    out: &mut Map<String, Value>,
    pointer: &str,
    changes: &mut Changes,
) -> Option<()> {
    let properties = match rest.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        Some(_) | None => {
            changed(changes, "schema_closed", pointer);
            Map::new()
        }
    };
    let properties = named(&properties, &format!("{pointer}/properties"), changes)?;
    out.insert("properties".to_owned(), Value::Object(properties));
    if rest.shift_remove("additionalProperties") != Some(json!(false)) {
        changed(changes, "schema_closed", pointer);
    }
    out.insert("additionalProperties".to_owned(), json!(false));
    if let Some(required) = rest.shift_remove("required") {
        out.insert("required".to_owned(), required);
    }
    Some(())
}

fn array(
    rest: &mut Map<String, Value>,
    out: &mut Map<String, Value>,
    pointer: &str,
    changes: &mut Changes,
) -> Option<()> {
    if let Some(items) = rest.shift_remove("items") {
        let items = sub_schema(&items, &format!("{pointer}/items"), changes)?;
        out.insert("items".to_owned(), items);
    }
    let least = rest.get("minItems").and_then(Value::as_u64);
    if matches!(least, Some(0 | 1))
        && let Some(least) = rest.shift_remove("minItems")
    {
        out.insert("minItems".to_owned(), least);
    }
    Some(())
}

fn named(
    schemas: &Map<String, Value>,
    pointer: &str,
    changes: &mut Changes,
) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for (name, schema) in schemas {
        let schema = sub_schema(schema, &member(pointer, name), changes)?;
        out.insert(name.clone(), schema);
    }
    Some(out)
}

fn changed(changes: &mut Changes, code: &'static str, pointer: &str) {
    changes.push(NoteEffect::Quality, code, pointer);
}
