//! Arrays in place of objects: a deserializer may silently accept one as the fields in order.

use serde_json::Value;

/// The value with one of its objects replaced by the array of that object's values, for each object that is not
/// empty; with the path of the object, such as `messages.0.content`.
///
/// The outermost object is never replaced, nor is any object below a field with one of the `free` names, which may
/// hold anything.
#[must_use]
pub fn arrays_for_objects(whole: &Value, free: &[&str]) -> Vec<(String, Value)> {
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
