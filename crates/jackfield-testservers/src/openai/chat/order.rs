//! Every call is answered directly after its message, and there are no other results; and further rules of order.

use std::collections::HashSet;

use serde_json::Value;

use super::super::VendorQuirks;
use super::super::rules::text;
use super::messages::ids;
use crate::checks::CheckFindings;

/// Checks calls and results against each other, and the order of the roles.
pub(super) fn check(messages: &[Value], like: VendorQuirks, found: &mut CheckFindings) {
    let mut seen = HashSet::new();
    let mut open: Option<Vec<&str>> = None;
    for (n, message) in messages.iter().enumerate() {
        let at = format!("messages[{n}]");
        if text(message, "role") == "tool" {
            answer(&at, message, open.as_mut(), found);
            continue;
        }
        unanswered(n, open.take(), like, found);
        let calls: Vec<&str> = ids(message).collect();
        for id in &calls {
            // Stricter than the vendor, who compares only within one message.
            if !seen.insert(*id) {
                found.add(&at, &format!("ids of calls must be unique: '{id}'"));
            }
        }
        open = (!calls.is_empty()).then_some(calls);
    }
    unanswered(messages.len(), open, like, found);
    if like == VendorQuirks::Mistral {
        mistral(messages, found);
    }
}

fn answer(at: &str, message: &Value, open: Option<&mut Vec<&str>>, found: &mut CheckFindings) {
    let Some(open) = open else {
        let fault = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
        return found.add(&format!("{at}.role"), fault);
    };
    let id = text(message, "tool_call_id");
    match open.iter().position(|waiting| *waiting == id) {
        Some(place) => {
            open.remove(place);
        }
        None => {
            let fault = format!(
                "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
            );
            found.add(&format!("{at}.tool_call_id"), &fault);
        }
    }
}

/// Adds a violation for each call that was not answered before this message.
fn unanswered(n: usize, open: Option<Vec<&str>>, like: VendorQuirks, found: &mut CheckFindings) {
    let Some(open) = open.filter(|open| !open.is_empty()) else {
        return;
    };
    let at = format!("messages[{n}].role");
    if like == VendorQuirks::Mistral {
        let fault = "Not the same number of function calls and responses";
        return found.coded(&at, "3230", fault);
    }
    let fault = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    found.add(&at, &fault);
}

/// Mistral's rules for the order of roles.
fn mistral(messages: &[Value], found: &mut CheckFindings) {
    let mut before = "";
    for (n, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        let is_late_system = role == "system" && !matches!(before, "" | "system");
        if is_late_system || (before == "tool" && role == "user") {
            let fault = format!("Unexpected role '{role}' after role '{before}'");
            found.coded(&format!("messages[{n}].role"), "3230", &fault);
        }
        before = role;
    }
    let is_prefix = messages
        .last()
        .is_some_and(|last| last.get("prefix") == Some(&Value::Bool(true)));
    if !matches!(before, "tool" | "user") && !is_prefix && !messages.is_empty() {
        let fault = format!(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got {before}"
        );
        found.coded("messages", "3230", &fault);
    }
}
