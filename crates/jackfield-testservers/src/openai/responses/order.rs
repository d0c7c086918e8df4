//! Every call is answered exactly once and later, and there are no other outputs.

use std::collections::HashSet;

use serde_json::Value;

use super::super::rules::text;
use crate::checks::CheckFindings;

/// Checks calls and outputs against each other.
///
/// If the input continues from an earlier response, calls may be in that.
pub(super) fn check(input: &[Value], goes_on: bool, found: &mut CheckFindings) {
    let mut seen = HashSet::new();
    let mut open: Vec<(&str, &str)> = Vec::new();
    for (n, item) in input.iter().enumerate() {
        let at = format!("input[{n}]");
        let id = text(item, "call_id");
        match text(item, "type") {
            // A search that the vendor ran has no id.
            "tool_search_call" | "tool_search_output" if id.is_empty() => {}
            kind @ ("custom_tool_call" | "function_call" | "tool_search_call") => {
                if !seen.insert(id) {
                    found.add(&at, &format!("ids of calls must be unique: '{id}'"));
                }
                open.push((kind, id));
            }
            kind @ ("custom_tool_call_output" | "function_call_output" | "tool_search_output") => {
                let call = match kind.trim_end_matches("_output") {
                    "tool_search" => "tool_search_call",
                    call => call,
                };
                match open.iter().position(|waiting| *waiting == (call, id)) {
                    Some(place) => {
                        open.remove(place);
                    }
                    None if goes_on && !seen.contains(id) => {}
                    None => {
                        let fault = format!(
                            "No tool call found for function call output with call_id {id}."
                        );
                        found.add(&at, &fault);
                    }
                }
            }
            // Stricter than the vendor, who accepts an output anywhere later.
            "" | "message" if !open.is_empty() && text(item, "role") != "assistant" => {
                unanswered(&at, &mut open, found);
            }
            _ => {}
        }
    }
    unanswered("input", &mut open, found);
}

fn unanswered(at: &str, open: &mut Vec<(&str, &str)>, found: &mut CheckFindings) {
    for (kind, id) in open.drain(..) {
        let what = match kind {
            "function_call" => "function call",
            "tool_search_call" => "tool search call",
            _ => "custom tool call",
        };
        found.add(at, &format!("No tool output found for {what} {id}."));
    }
}
