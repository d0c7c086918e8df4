//! Common parts of the rules of both dialects: checks of fields, and the error messages.
//!
//! The messages are those of the API in 2026, as reported by its users; the fields and their forms are those of the
//! official SDK's types (`openai` 3.54.0 on PyPI).

pub(super) mod schema;
pub(super) mod settings;
pub(super) mod tools;

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::checks::CheckFindings;

/// Adds a violation for each unknown field of an object.
pub(super) fn known(at: &str, object: &Value, known: &[&str], found: &mut CheckFindings) {
    for name in fields(object).keys() {
        if !known.contains(&name.as_str()) {
            let at = join(at, name);
            found.coded(
                &at,
                "unknown_parameter",
                &format!("Unknown parameter: '{at}'."),
            );
        }
    }
}

/// A required field that must be a string.
pub(super) fn need_text<'a>(
    at: &str,
    object: &'a Value,
    name: &str,
    found: &mut CheckFindings,
) -> Option<&'a str> {
    let at = join(at, name);
    match object.get(name) {
        None => {
            missing(&at, found);
            None
        }
        Some(Value::String(text)) => Some(text),
        Some(other) => {
            wrong_type(&at, "a string", other, found);
            None
        }
    }
}

/// A field that must be one of these strings if it exists.
pub(super) fn one_of(
    at: &str,
    object: &Value,
    name: &str,
    known: &[&str],
    found: &mut CheckFindings,
) {
    let at = join(at, name);
    match object.get(name) {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) if known.contains(&text.as_str()) => {}
        Some(Value::String(text)) => not_supported(&at, text, known, found),
        Some(other) => wrong_type(&at, "a string", other, found),
    }
}

/// Checks that a text consists of name characters, and is not too long.
pub(super) fn name(at: &str, text: &str, longest: usize, found: &mut CheckFindings) {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if text.is_empty() || !text.bytes().all(fits) {
        let fault = format!(
            "Invalid '{at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        );
        found.coded(at, "invalid_value", &fault);
    }
    longest_text(at, text, longest, found);
}

/// Checks that a text is not empty, and not too long.
pub(super) fn id(at: &str, text: &str, longest: usize, found: &mut CheckFindings) {
    if text.is_empty() {
        let fault =
            format!("Invalid '{at}': empty string. Expected a string with minimum length 1.");
        found.coded(at, "empty_string", &fault);
    }
    longest_text(at, text, longest, found);
}

/// Checks that a list is not empty.
pub(super) fn not_empty(at: &str, items: &[Value], found: &mut CheckFindings) {
    if items.is_empty() {
        let fault = format!(
            "Invalid '{at}': empty array. Expected an array with minimum length 1, but got an empty array instead."
        );
        found.coded(at, "empty_array", &fault);
    }
}

pub(super) fn missing(at: &str, found: &mut CheckFindings) {
    let fault = format!("Missing required parameter: '{at}'.");
    found.coded(at, "missing_required_parameter", &fault);
}

pub(super) fn not_supported(at: &str, value: &str, known: &[&str], found: &mut CheckFindings) {
    let known: Vec<String> = known.iter().map(|known| format!("'{known}'")).collect();
    let fault = format!(
        "Invalid value: '{value}'. Supported values are: {}.",
        known.join(", ")
    );
    found.coded(at, "invalid_value", &fault);
}

pub(super) fn wrong_type(at: &str, expected: &str, got: &Value, found: &mut CheckFindings) {
    let got = match got {
        Value::Array(_) => "an array",
        Value::Bool(_) => "a boolean",
        Value::Null => "null",
        Value::Number(_) => "a number",
        Value::Object(_) => "an object",
        Value::String(_) => "a string",
    };
    let fault = format!("Invalid type for '{at}': expected {expected}, but got {got} instead.");
    found.coded(at, "invalid_type", &fault);
}

/// The items of a list; none if the value is not a list.
pub(super) fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
}

/// The fields of an object; none if the value is not an object.
pub(super) fn fields(object: &Value) -> &Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    object.as_object().unwrap_or(&NONE)
}

/// A string field of an object; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether an object has a field that is not null.
pub(super) fn has(object: &Value, name: &str) -> bool {
    object.get(name).is_some_and(|value| !value.is_null())
}

pub(super) fn join(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

fn longest_text(at: &str, text: &str, longest: usize, found: &mut CheckFindings) {
    let length = text.chars().count();
    if length > longest {
        let fault = format!(
            "Invalid '{at}': string too long. Expected a string with maximum length {longest}, but got a string with length {length} instead."
        );
        found.coded(at, "string_above_max_length", &fault);
    }
}
