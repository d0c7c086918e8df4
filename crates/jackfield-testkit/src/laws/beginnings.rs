//! Requests of one conversation begin alike, so that a provider can read from its cache what it was sent before.

use jackfield_domain::message::Role;
use jackfield_domain::request::ModelRequest;
use proptest::prop_assert_eq;
use serde_json::{Value, json};

use super::{Law, RequestMappers, body, first_difference};

/// The request of each round of a conversation is the beginning of that of the next.
///
/// # Errors
///
/// A broken law.
pub fn rounds_begin_alike<M: RequestMappers>(request: &ModelRequest, profile: &M::Profile) -> Law {
    let messages: Vec<_> = request.messages.iter().collect();
    let replies = (1..messages.len()).filter(|place| messages[*place].role == Role::Assistant);
    let mut before: Option<Value> = None;
    for place in replies.chain([messages.len()]) {
        let until = messages.iter().take(place);
        let so_far = ModelRequest {
            messages: until.map(|message| (***message).clone()).collect(),
            ..request.clone()
        };
        let Some((body, _)) = body::<M>(&so_far, profile)? else {
            continue;
        };
        if let Some(before) = before {
            prop_assert_eq!(changed_beginning(&before, &body), None);
        }
        before = Some(body);
    }
    Ok(())
}

/// The first place at which a request does not begin like the one before it, cache points aside. It may have more tools
/// and messages, and more in the last message: a reply of which nothing can be sent leaves messages of one role. A text
/// is the same alone and as the only part, which may have a point.
#[must_use]
pub fn changed_beginning(before: &Value, next: &Value) -> Option<String> {
    let mut before = without_cache_points(before.clone());
    let mut next = without_cache_points(next.clone());
    texts_as_parts(&mut before);
    texts_as_parts(&mut next);
    for path in [
        "/contents",
        "/input",
        "/messages",
        "/tools",
        "/toolConfig/tools",
    ] {
        if let (Some(before), Some(next)) = (before.pointer(path), next.pointer_mut(path))
            && goes_on(before, next)
        {
            *next = before.clone();
        }
    }
    if let Some(fields) = next.as_object_mut() {
        let is_added = |name: &str| ADDED.contains(&name) && before.get(name).is_none();
        fields.retain(|name, _| !is_added(name));
    }
    first_difference(&before, &next, "")
}

fn texts_as_parts(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(texts_as_parts),
        Value::Object(fields) => {
            if fields.contains_key("text") {
                fields.remove("type");
            }
            for (name, value) in fields {
                if matches!(&**name, "content" | "output") && value.is_string() {
                    *value = json!([{ "text": value }]);
                }
                texts_as_parts(value);
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a value is another one with more at its end.
fn goes_on(before: &Value, next: &Value) -> bool {
    match (before, next) {
        (Value::Array(before), Value::Array(next)) => {
            let Some((last, begin)) = before.split_last() else {
                return true;
            };
            next.starts_with(begin)
                && next
                    .get(begin.len())
                    .is_some_and(|next| goes_on(last, next))
        }
        (Value::Object(before), Value::Object(next)) => {
            let mut fields = before.iter().zip(next.values());
            before.keys().eq(next.keys()) && fields.all(|((_, before), next)| goes_on(before, next))
        }
        (Value::String(before), Value::String(next)) => next.starts_with(&**before),
        (before, next) => before == next,
    }
}

/// The value without the cache points of any vendor.
#[must_use]
pub fn without_cache_points(mut value: Value) -> Value {
    remove_cache_points(&mut value);
    value
}

fn remove_cache_points(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| item.get("cachePoint").is_none());
            items.iter_mut().for_each(remove_cache_points);
        }
        Value::Object(fields) => {
            fields.retain(|name, _| !POINTS.contains(&name.as_str()));
            fields.values_mut().for_each(remove_cache_points);
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

/// The fields that a request may have once there are tools, or once it is long enough for a cache.
const ADDED: [&str; 5] = [
    "parallel_tool_calls",
    "prompt_cache_key",
    "toolConfig",
    "tool_choice",
    "tools",
];

/// The fields that mark a point.
const POINTS: [&str; 2] = ["cache_control", "prompt_cache_breakpoint"];
