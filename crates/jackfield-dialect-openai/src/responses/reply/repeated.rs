//! The fields of a response that repeat its request.

use serde_json::{Map, Value, json};

use crate::responses::namespaces;

/// The id of a response, by the part after its prefix.
pub(crate) fn response_id(id: &str) -> String {
    format!("resp_{id}")
}

/// The fields of the request, and the vendor's defaults for missing ones.
pub(super) fn repeated_fields(echo: &Map<String, Value>) -> Map<String, Value> {
    let defaults = [
        ("background", Value::from(false)),
        ("instructions", Value::Null),
        ("max_output_tokens", Value::Null),
        ("metadata", json!({})),
        ("parallel_tool_calls", true.into()),
        ("previous_response_id", Value::Null),
        ("reasoning", json!({ "effort": null, "summary": null })),
        ("store", true.into()),
        ("temperature", Value::Null),
        ("text", json!({ "format": { "type": "text" } })),
        ("tool_choice", "auto".into()),
        ("tools", json!([])),
        ("top_p", Value::Null),
        ("truncation", "disabled".into()),
    ];
    let defaults = defaults.map(|(key, json)| (key.to_owned(), json));
    let mut repeated = Map::from_iter(defaults);
    let fields = echo.iter().filter(|(key, _)| *key != namespaces::TABLE);
    repeated.extend(fields.map(|(key, json)| (key.clone(), json.clone())));
    repeated
}
