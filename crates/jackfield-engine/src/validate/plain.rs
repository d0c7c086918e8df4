//! Plain schemas: the time of a check against them can be bounded in advance, for any value.

use serde_json::{Map, Value};

/// The size of a plain schema: a check takes at most this many steps per unit of [the value's weight](weight).
/// `None` if the schema is not plain.
///
/// A plain schema has no references and no regular expressions, and does not compare parts of the value with
/// each other, so each of its parts visits each part of the value at most once. A schema with a keyword that is
/// unknown here is not plain.
pub(crate) fn size(schema: &Value) -> Option<usize> {
    let mut left = LIMIT;
    count_schema(schema, DEEPEST, &mut left)?;
    Some(LIMIT - left)
}

fn count_schema(schema: &Value, depth: usize, left: &mut usize) -> Option<()> {
    spend(1, left)?;
    match schema {
        Value::Bool(_) => Some(()),
        Value::Object(fields) => {
            let depth = depth.checked_sub(1)?;
            count_keywords(fields, depth, left)
        }
        Value::Array(_) | Value::Null | Value::Number(_) | Value::String(_) => None,
    }
}

fn count_keywords(fields: &Map<String, Value>, depth: usize, left: &mut usize) -> Option<()> {
    for (keyword, value) in fields {
        match keyword.as_str() {
            "$comment" | "$schema" | "default" | "deprecated" | "description" | "examples"
            | "exclusiveMaximum" | "exclusiveMinimum" | "maxItems" | "maxLength"
            | "maxProperties" | "maximum" | "minItems" | "minLength" | "minProperties"
            | "minimum" | "readOnly" | "title" | "type" | "writeOnly" => spend(1, left)?,
            "const" | "enum" | "required" => count_value(value, depth, left)?,
            "additionalProperties" => count_schema(value, depth, left)?,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => count_schemas(value, depth, left)?,
            "items" if value.is_array() => count_schemas(value, depth, left)?,
            "items" => count_schema(value, depth, left)?,
            "properties" => {
                for (name, schema) in value.as_object()? {
                    spend(name.len() / BYTES, left)?;
                    count_schema(schema, depth, left)?;
                }
            }
            _ => return None,
        }
    }
    Some(())
}

fn count_schemas(value: &Value, depth: usize, left: &mut usize) -> Option<()> {
    let mut schemas = value.as_array()?.iter();
    schemas.try_for_each(|schema| count_schema(schema, depth, left))
}

/// The size of a value that the schema compares with.
fn count_value(value: &Value, depth: usize, left: &mut usize) -> Option<()> {
    spend(1, left)?;
    match value {
        Value::Bool(_) | Value::Null | Value::Number(_) => Some(()),
        Value::String(text) => spend(text.len() / BYTES, left),
        Value::Array(items) => {
            let depth = depth.checked_sub(1)?;
            items
                .iter()
                .try_for_each(|item| count_value(item, depth, left))
        }
        // Objects are compared field by field, in any order.
        Value::Object(_) => None,
    }
}

/// The weight of a value; `None` if it is more than `most`.
pub(crate) fn weight(value: &Value, most: usize) -> Option<usize> {
    let mut left = most;
    weigh(value, &mut left)?;
    Some(most - left)
}

fn weigh(value: &Value, left: &mut usize) -> Option<()> {
    spend(1, left)?;
    match value {
        Value::Bool(_) | Value::Null | Value::Number(_) => Some(()),
        Value::String(text) => spend(text.len() / BYTES, left),
        Value::Array(items) => items.iter().try_for_each(|item| weigh(item, left)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            spend(name.len() / BYTES, left)?;
            weigh(value, left)
        }),
    }
}

fn spend(steps: usize, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(steps)?;
    Some(())
}

/// The number of bytes that are compared in the time of one step.
const BYTES: usize = 8;
/// The maximum depth of a plain schema.
const DEEPEST: usize = 16;
/// The maximum size of a plain schema.
const LIMIT: usize = 512;
