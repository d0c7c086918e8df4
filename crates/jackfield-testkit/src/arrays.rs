//! Arrays where objects belong: a reader that takes one as its fields, by their order, says nothing of it.

use serde_json::Value;

/// The value with one of its objects turned into the array of that object's values, for each of them in turn
/// that has any; with the place of it, such as `messages.0.content`.
///
/// The outermost object is left alone, and so is whatever stands below a field of one of these names, which
/// may be anything.
#[must_use]
pub fn in_place_of_objects(whole: &Value, free: &[&str]) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    collect(whole, &mut Vec::new(), free, &mut places);
    let made = places.into_iter().map(|place| {
        let mut changed = whole.clone();
        if let Some(found) = changed.pointer_mut(&pointer(&place)) {
            let values = found.as_object().map(|fields| fields.values().cloned());
            *found = Value::Array(values.into_iter().flatten().collect());
        }
        (place.join("."), changed)
    });
    made.collect()
}

fn collect(value: &Value, path: &mut Vec<String>, free: &[&str], found: &mut Vec<Vec<String>>) {
    let mut below = |step: String, value: &Value| {
        path.push(step);
        collect(value, path, free, found);
        path.pop();
    };
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                below(place.to_string(), item);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if !free.contains(&name.as_str()) {
                    below(name.clone(), value);
                }
            }
            if !path.is_empty() && !fields.is_empty() {
                found.push(path.clone());
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

fn pointer(path: &[String]) -> String {
    let steps = path.iter().map(|step| {
        let step = step.replace('~', "~0").replace('/', "~1");
        format!("/{step}")
    });
    steps.collect()
}
