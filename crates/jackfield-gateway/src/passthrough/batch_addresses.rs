//! The addresses of results in descriptions of batches.

use std::ops::Range;

use serde_json::value::RawValue;

use super::json::{self, Member};

/// The edits by which the addresses of results in a reply are those of the gateway.
pub(super) fn result_addresses(reply: &str, gateway: &str) -> Vec<(Range<usize>, String)> {
    let mut edits = Vec::new();
    for object in objects(reply) {
        let members = json::members(object).unwrap_or_default();
        if let Some(member) = json::only(&members, "results_url")
            && let Some(url) = json::string(member.value)
            && let Some(path) = url.find(CLAUDE).and_then(|at| url.get(at..))
        {
            let start = object.as_ptr().addr() - reply.as_ptr().addr() + member.range.start;
            let moved = serde_json::Value::from(format!("{gateway}{path}"));
            edits.push((start..start + member.value.len(), moved.to_string()));
        }
    }
    edits
}

/// The objects of a reply: itself, or those of its list.
pub(super) fn objects(reply: &str) -> Vec<&str> {
    let members = json::members(reply).unwrap_or_default();
    let mut list = ["data", "operations"].iter();
    match list.find_map(|name| elements(&members, name)) {
        Some(list) => list.into_iter().map(RawValue::get).collect(),
        None => vec![reply],
    }
}

/// The elements of a list.
pub(super) fn elements<'a>(members: &[Member<'a>], name: &str) -> Option<Vec<&'a RawValue>> {
    serde_json::from_str(json::only(members, name)?.value).ok()
}

/// The address of Claude's batches.
pub(super) const CLAUDE: &str = "/v1/messages/batches";
