//! The request fields that a response repeats, in the forms that clients read.

use serde_json::{Map, Value, json};

use crate::responses::request::FUNCTION;

/// The repeated fields of a body.
pub(super) fn echoed_fields(body: &Map<String, Value>) -> Map<String, Value> {
    let sent = REPEATED
        .iter()
        .filter_map(|key| Some((*key, body.get(*key)?)))
        .filter(|(_, json)| !json.is_null());
    sent.map(|(key, json)| (key.to_owned(), normalize(key, json)))
        .collect()
}

/// The request fields that a response has, too.
const REPEATED: [&str; 20] = [
    "background",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// Adds subfields that a response must have and a request may omit.
fn normalize(key: &str, json: &Value) -> Value {
    match (key, json) {
        ("reasoning", Value::Object(said)) => {
            let defaults = [("effort", Value::Null), ("summary", Value::Null)];
            with_defaults(defaults, said)
        }
        ("text", Value::Object(said)) => {
            with_defaults([("format", json!({ "type": "text" }))], said)
        }
        ("tools", Value::Array(tools)) => tools.iter().map(tool).collect(),
        _ => json.clone(),
    }
}

fn tool(tool: &Value) -> Value {
    let is_function = tool.get("type").and_then(Value::as_str) == Some(FUNCTION);
    match tool.as_object().filter(|_| is_function) {
        Some(said) => with_defaults([("parameters", Value::Null), ("strict", Value::Null)], said),
        None => tool.clone(),
    }
}

fn with_defaults<const N: usize>(defaults: [(&str, Value); N], sent: &Map<String, Value>) -> Value {
    let defaults = defaults.map(|(key, json)| (key.to_owned(), json));
    let mut fields = Map::from_iter(defaults);
    let sent = sent.iter().filter(|(_, json)| !json.is_null());
    fields.extend(sent.map(|(key, json)| (key.clone(), json.clone())));
    Value::Object(fields)
}
