//! Rules for the conversation: how its messages relate.

use std::collections::HashSet;

use jackfield_dialect_openai::profile::ReasoningEcho;
use serde_json::{Map, Value};

use crate::openai::{Found, Rule};
use crate::place::{Place, text_of};

pub(super) fn check(found: &mut Found<'_>, body: &Map<String, Value>, root: &Place) {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let place = root.at("messages");
    pairs(found, messages, &place);
    let thinking = body.get("thinking").map(|switch| text_of(switch, "type"));
    if found.profile.reasoning_echo == ReasoningEcho::Always && thinking != Some("disabled") {
        reasoning(found, messages, &place);
    }
}

/// Every call has its result directly after its message, before any other role, and every result its call there.
fn pairs(found: &mut Found<'_>, messages: &[Value], place: &Place) {
    let mut open: Vec<(Place, &str)> = Vec::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for (n, message) in messages.iter().enumerate() {
        let place = place.at(n);
        if text_of(message, "role") == "tool" {
            let place = place.at("tool_call_id");
            let id = text_of(message, "tool_call_id");
            let known = open.iter().any(|(_, call)| *call == id);
            found.check(known, &place, Rule::ResultWithoutCall);
            let first = answered.insert(id);
            found.check(first, &place, Rule::Repeated);
            continue;
        }
        close(found, &mut open, &mut answered);
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for (n, call) in calls.into_iter().flatten().enumerate() {
            let place = place.at("tool_calls").at(n).at("id");
            let id = text_of(call, "id");
            let known = open.iter().any(|(_, before)| *before == id);
            found.check(!known, &place, Rule::Repeated);
            open.push((place, id));
        }
    }
    close(found, &mut open, &mut answered);
}

fn close(found: &mut Found<'_>, open: &mut Vec<(Place, &str)>, answered: &mut HashSet<&str>) {
    for (place, call) in open.drain(..) {
        found.check(answered.contains(call), &place, Rule::UnansweredCall);
    }
    answered.clear();
}

/// In a turn with calls, every assistant message has its reasoning (DeepSeek, 2026).
fn reasoning(found: &mut Found<'_>, messages: &[Value], place: &Place) {
    let mut turn: Vec<(Place, &Value)> = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        match text_of(message, "role") {
            "assistant" => turn.push((place.at(n), message)),
            "user" => close_turn(found, &mut turn),
            _ => {}
        }
    }
    close_turn(found, &mut turn);
}

fn close_turn(found: &mut Found<'_>, turn: &mut Vec<(Place, &Value)>) {
    let calls = turn
        .iter()
        .any(|(_, said)| said.get("tool_calls").is_some());
    for (place, message) in turn.drain(..) {
        let told = message
            .get("reasoning_content")
            .is_some_and(Value::is_string);
        let place = place.at("reasoning_content");
        found.check(told || !calls, &place, Rule::ReasoningMissing);
    }
}
