//! Changes to a request.

use serde_json::Value;

/// Sets a value, also one past the end of a list.
pub(crate) fn set(body: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
    match body.pointer_mut(parent) {
        Some(Value::Array(items)) => match name.parse::<usize>() {
            Ok(place) if place < items.len() => items[place] = value,
            _ => items.push(value),
        },
        Some(other) => other[name] = value,
        None => panic!("there is no {parent}"),
    }
}
