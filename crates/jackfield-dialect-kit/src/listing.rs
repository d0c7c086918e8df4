//! Fields of a model that only some providers have.

use serde_json::{Map, Value};

/// The fields of a listed model other than these, unless they are too large: clients get them unchanged.
#[must_use]
pub fn extra_fields(listed: &Value, except: &[&str]) -> Map<String, Value> {
    let fields = listed.as_object().into_iter().flatten();
    let more = fields.filter(|(field, _)| !except.contains(&field.as_str()));
    let more: Map<String, Value> = more
        .map(|(field, json)| (field.clone(), json.clone()))
        .collect();
    let size = serde_json::to_vec(&more).map_or(usize::MAX, |json| json.len());
    if size > LIMIT { Map::new() } else { more }
}

/// The size limit in bytes: the largest entries of OpenRouter's list have a quarter of it (2026-11).
const LIMIT: usize = 16 << 10;
