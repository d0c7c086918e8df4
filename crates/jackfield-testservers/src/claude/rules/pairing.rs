//! Every call has its result in the next message, and there are no other results.

use std::collections::HashSet;

use serde_json::Value;

use super::{blocks, kind};
use crate::checks::CheckFindings;

/// Checks calls and results against each other, and the order of the roles; `continues` if the model continues its
/// own words at the end.
///
/// Stricter than the vendor, who merges consecutive messages of one role.
pub(super) fn check(messages: &[Value], continues: bool, found: &mut CheckFindings) {
    let mut seen = HashSet::new();
    let mut calls: Vec<&str> = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        let results = results(n, message, found);
        for (place, id) in results.iter().enumerate() {
            let fault = if !calls.contains(id) {
                "has no `tool_use` in the message before"
            } else if results.iter().take(place).any(|before| before == id) {
                "is answered twice"
            } else {
                continue;
            };
            found.add(
                &format!("messages.{n}"),
                &format!("unexpected `tool_use_id`: {id} {fault}"),
            );
        }
        calls.retain(|id| !results.contains(id));
        check_answered(n, &calls, found);
        let blocks = blocks(message).iter();
        calls = blocks
            .filter(|block| kind(block) == "tool_use")
            .map(|block| text(block, "id"))
            .collect();
        for id in &calls {
            if id.is_empty() || !seen.insert(*id) {
                found.add(
                    &format!("messages.{n}"),
                    &format!("`tool_use` ids must be unique: {id:?}"),
                );
            }
        }
    }
    check_answered(messages.len(), &calls, found);
    let role = |message: Option<&Value>| {
        message
            .map_or("", |message| text(message, "role"))
            .to_owned()
    };
    if role(messages.first()) == "assistant" {
        found.add("messages.0", "the first message cannot be the assistant's");
    }
    if !continues && role(messages.last()) == "assistant" {
        found.add("messages", "the conversation must end with a user message");
    }
}

/// The ids of a message's results, which must precede its other blocks.
fn results<'a>(n: usize, message: &'a Value, found: &mut CheckFindings) -> Vec<&'a str> {
    let mut ids = Vec::new();
    for (place, block) in blocks(message).iter().enumerate() {
        if kind(block) == "tool_result" {
            if ids.len() < place {
                let at = format!("messages.{n}.content.{place}");
                found.add(&at, "`tool_result` blocks have to come first");
            }
            ids.push(text(block, "tool_use_id"));
        }
    }
    ids
}

/// Adds a violation for each call of the message before that this one does not answer.
fn check_answered(n: usize, calls: &[&str], found: &mut CheckFindings) {
    if !calls.is_empty() {
        let fault = format!(
            "`tool_use` ids were found without `tool_result` blocks immediately after: {}",
            calls.join(", ")
        );
        found.add(&format!("messages.{}", n.saturating_sub(1)), &fault);
    }
}

fn text<'a>(block: &'a Value, name: &str) -> &'a str {
    block.get(name).and_then(Value::as_str).unwrap_or_default()
}
