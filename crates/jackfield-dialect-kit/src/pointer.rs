//! JSON Pointers (RFC 6901), which name the place of an extension.

use serde_json::{Map, Value};

/// The reference tokens of a pointer; `None` if it is invalid, or the root.
#[must_use]
pub fn tokens(pointer: &str) -> Option<Vec<String>> {
    let rest = pointer.strip_prefix('/')?;
    let unescape = |token: &str| token.replace("~1", "/").replace("~0", "~");
    Some(rest.split('/').map(unescape).collect())
}

/// Sets a value below objects, which are created if they are missing; never replaces a value.
///
/// Returns whether the value was set.
pub fn set(fields: &mut Map<String, Value>, tokens: &[String], json: &Value) -> bool {
    let Some((first, below)) = tokens.split_first() else {
        return false;
    };
    if below.is_empty() {
        if fields.contains_key(first) {
            return false;
        }
        fields.insert(first.clone(), json.clone());
        return true;
    }
    let next = fields
        .entry(first.clone())
        .or_insert_with(|| Value::Object(Map::new()));
    next.as_object_mut()
        .is_some_and(|fields| set(fields, below, json))
}
