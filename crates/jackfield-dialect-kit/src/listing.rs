//! What a provider says of a model besides what every provider says.

use serde_json::{Map, Value};

/// The fields of a model in a list but for these, if there are not too many: clients are told them as they are.
#[must_use]
pub fn more(listed: &Value, but: &[&str]) -> Map<String, Value> {
    let fields = listed.as_object().into_iter().flatten();
    let more = fields.filter(|(field, _)| !but.contains(&field.as_str()));
    let more: Map<String, Value> = more
        .map(|(field, json)| (field.clone(), json.clone()))
        .collect();
    let size = serde_json::to_vec(&more).map_or(usize::MAX, |json| json.len());
    if size > MOST { Map::new() } else { more }
}

/// How many bytes they may have: the largest entries of OpenRouter's list have a quarter of that (2026-11).
const MOST: usize = 16 << 10;
