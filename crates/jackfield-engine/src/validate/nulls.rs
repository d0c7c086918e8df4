//! Arguments that are `null` instead of missing.

use jsonschema::Validator;
use serde_json::{Map, Value};

/// The arguments without each field that is `null` where the schema allows none; `None` if they do not fit then, either,
/// for instance because such a field is required.
pub(super) fn without(validator: &Validator, arguments: &Value) -> Option<Map<String, Value>> {
    if !has_null(arguments) {
        return None;
    }
    let mut fewer = arguments.clone();
    for error in validator.iter_errors(arguments) {
        remove_null(&mut fewer, error.instance_path().as_str());
    }
    if !validator.is_valid(&fewer) {
        return None;
    }
    match fewer {
        Value::Object(fields) => Some(fields),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
            None
        }
    }
}

/// Removes the field at this JSON pointer if it is `null`.
fn remove_null(value: &mut Value, place: &str) {
    let Some((parent, name)) = place.rsplit_once('/') else {
        return;
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    if let Some(Value::Object(fields)) = value.pointer_mut(parent)
        && fields.get(&name).is_some_and(Value::is_null)
    {
        fields.shift_remove(&name);
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Null => true,
        Value::Object(fields) => fields.values().any(has_null),
    }
}
