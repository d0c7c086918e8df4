//! Texts between tags, and values that stand there literally.

use serde_json::{Map, Value};

use super::super::call::{OfferedTools, TextCall};

/// The text before a tag, and the text after it.
pub(super) fn until<'t>(text: &'t str, tag: &str) -> Option<(&'t str, &'t str)> {
    text.split_once(tag)
}

/// The text between two tags, the first of which is at the beginning, and the text after them.
pub(super) fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, &'t str)> {
    until(text.strip_prefix(open)?, close)
}

/// A value of an argument that is written without quotes: text, unless the schema of the tool says otherwise. Nothing
/// in it is escaped.
pub(super) fn literal(text: &str, offered: &OfferedTools, tool: &str, argument: &str) -> Value {
    let types = offered.types_of(tool, argument);
    let trimmed = text.trim();
    if types.contains("null") && matches!(trimmed, "null" | "None") {
        return Value::Null;
    }
    if types.contains("string") {
        return Value::from(text);
    }
    // A schema that does not say a type, as one by reference, is mostly one of an object.
    let is_structure = trimmed.starts_with(['{', '[']);
    if types.is_empty() && !is_structure {
        return Value::from(text);
    }
    let python = match trimmed {
        "True" => "true",
        "False" => "false",
        other => other,
    };
    serde_json::from_str(python).unwrap_or_else(|_| Value::from(text))
}

/// The call of an offered tool with these arguments.
pub(super) fn call(
    name: &str,
    arguments: Map<String, Value>,
    offered: &OfferedTools,
) -> Option<TextCall> {
    offered.has(name).then(|| TextCall {
        arguments: Value::Object(arguments).to_string(),
        name: name.to_owned(),
    })
}
