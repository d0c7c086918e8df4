//! Rules for the conversation: how its items relate.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::items::kind_of;
use crate::openai::{Found, Rule};
use crate::place::{Place, said, text_of};

pub(super) fn check(found: &mut Found<'_>, body: &Map<String, Value>, root: &Place) {
    let items = body.get("input").and_then(Value::as_array);
    let items = items.map(Vec::as_slice).unwrap_or_default();
    let place = root.at("input");
    // Calls may be in the history that the vendor has stored.
    let continued = ["conversation", "previous_response_id"];
    let continued = continued.iter().any(|key| said(body, key).is_some());
    for (call, output) in [
        ("custom_tool_call", "custom_tool_call_output"),
        ("function_call", "function_call_output"),
    ] {
        pairs(found, items, (call, output), continued, &place);
    }
    reasoning(found, items, &place);
}

/// Every call has one output after it, and every output its call before it.
fn pairs(
    found: &mut Found<'_>,
    items: &[Value],
    (call, output): (&str, &str),
    continued: bool,
    place: &Place,
) {
    let mut calls: Vec<(Place, &str)> = Vec::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for (n, item) in items.iter().enumerate() {
        let kind = kind_of(item);
        let place = place.at(n).at("call_id");
        let id = text_of(item, "call_id");
        let known = calls.iter().any(|(_, call)| *call == id);
        if kind == call {
            found.check(!known, &place, Rule::Repeated);
            calls.push((place, id));
        } else if kind == output {
            found.check(known || continued, &place, Rule::ResultWithoutCall);
            found.check(answered.insert(id), &place, Rule::Repeated);
        }
    }
    for (place, call) in calls {
        found.check(answered.contains(call), &place, Rule::UnansweredCall);
    }
}

/// A reasoning item directly precedes its text or calls.
fn reasoning(found: &mut Found<'_>, items: &[Value], place: &Place) {
    for (n, item) in items.iter().enumerate() {
        if kind_of(item) != "reasoning" {
            continue;
        }
        let mut after = items.iter().skip(n + 1);
        let next = after.find(|item| kind_of(item) != "reasoning");
        let led = next.is_some_and(|next| match kind_of(next) {
            "message" => text_of(next, "role") == "assistant",
            kind => !kind.ends_with("_output") && kind != "mcp_approval_response",
        });
        found.check(led, &place.at(n), Rule::ReasoningAlone);
    }
}
