//! The rules of servers that only claim compatibility.
//!
//! Facts of 2026-11: DeepSeek's page on its thinking mode, the types of `mistralai` 3.7.0, Ollama's
//! `openai/openai.go`.

use serde_json::Value;

use super::super::rules::{fields, has, items, missing, not_supported, settings, text};
use crate::checks::CheckFindings;

/// The features that all of them lack: text tools, and a choice among a subset of the tools.
pub(super) fn all(body: &Value, found: &mut CheckFindings) {
    for (n, tool) in items(body.get("tools")).iter().enumerate() {
        let kind = text(tool, "type");
        if kind != "function" {
            not_supported(&format!("tools[{n}].type"), kind, &["function"], found);
        }
    }
    if let Some(choice @ Value::Object(_)) = body.get("tool_choice") {
        let kind = text(choice, "type");
        if kind != "function" {
            not_supported("tool_choice.type", kind, &["function"], found);
        }
    }
}

/// DeepSeek ignores unknown fields, and requires its reasoning back in every turn with calls.
///
/// The field must exist even if it was empty; in turns without calls it is ignored.
pub(super) fn deepseek(body: &Value, found: &mut CheckFindings) {
    let is_off = body
        .get("thinking")
        .is_some_and(|mode| text(mode, "type") == "disabled");
    if is_off {
        return;
    }
    let messages = items(body.get("messages"));
    let mut turn: Vec<usize> = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        match text(message, "role") {
            "assistant" => turn.push(n),
            "tool" => {}
            _ => {
                echoed(messages, &turn, found);
                turn.clear();
            }
        }
    }
    echoed(messages, &turn, found);
}

/// Every assistant message in a turn with calls has its reasoning.
fn echoed(messages: &[Value], turn: &[usize], found: &mut CheckFindings) {
    let of_turn = || turn.iter().filter_map(|n| Some((n, messages.get(*n)?)));
    if !of_turn().any(|(_, message)| has(message, "tool_calls")) {
        return;
    }
    for (n, message) in of_turn() {
        if !message
            .get("reasoning_content")
            .is_some_and(Value::is_string)
        {
            let fault =
                "The `reasoning_content` in the thinking mode must be passed back to the API.";
            found.coded(&format!("messages[{n}]"), "invalid_request_error", fault);
        }
    }
}

/// Mistral accepts only its own fields.
pub(super) fn mistral(body: &Value, found: &mut CheckFindings) {
    for name in fields(body).keys() {
        if !MISTRALS_FIELDS.contains(&name.as_str()) {
            found.coded(name, "extra_forbidden", "Extra inputs are not permitted");
        }
    }
    settings::number(body, "temperature", 0.0, 1.5, found);
    settings::number(body, "top_p", 0.0, 1.0, found);
    settings::whole(body, "max_tokens", 0, found);
}

/// Ollama ignores unknown fields, and reads the limit only from its old field.
///
/// Stricter than the server, which silently continues without a limit.
pub(super) fn ollama(body: &Value, found: &mut CheckFindings) {
    if has(body, "max_completion_tokens") && !has(body, "max_tokens") {
        missing("max_tokens", found);
    }
}

const MISTRALS_FIELDS: &[&str] = &[
    "frequency_penalty",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_mode",
    "random_seed",
    "reasoning_effort",
    "response_format",
    "safe_prompt",
    "stop",
    "stream",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
];
