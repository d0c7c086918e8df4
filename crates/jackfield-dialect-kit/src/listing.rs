//! Fields of a model that only some providers have.

use jackfield_domain::listing::ListedModel;
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

/// The fields of a model that clients get beside the `known` ones, as far as they have a form that clients expect.
#[must_use]
pub fn other_fields(
    model: &ListedModel,
    known: &[&str],
    is_expected: fn(&str, &Value) -> bool,
) -> Map<String, Value> {
    let fields = model.more.iter();
    let fields =
        fields.filter(|(field, json)| !known.contains(&field.as_str()) && is_expected(field, json));
    let fields = fields.map(|(field, json)| (field.clone(), json.clone()));
    fields.collect()
}

/// The size limit in bytes: the largest entries of OpenRouter's list have a quarter of it (2026-11).
const LIMIT: usize = 16 << 10;
