//! Rules for requests to Responses.

mod events;
mod items;
mod order;
pub(super) mod speak;

use serde_json::Value;

use super::chat;
use super::rules::{
    self, fields, has, missing, not_empty, one_of, settings, text, tools, wrong_type,
};
use crate::checks::{CheckFindings, Violation};

/// Returns every violation in the body of a request.
#[must_use]
pub fn check(body: &Value) -> Vec<Violation> {
    let mut found = CheckFindings::default();
    if !body.is_object() {
        found.add("", "We could not parse the JSON body of your request.");
        return found.0;
    }
    for name in fields(body).keys() {
        if let Some((_, there)) = MOVED.iter().find(|(old, _)| old == name) {
            let fault = format!(
                "Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to '{there}'."
            );
            found.coded(name, "unsupported_parameter", &fault);
        }
    }
    let moved = MOVED.iter().map(|(old, _)| *old);
    let known: Vec<&str> = FIELDS.iter().copied().chain(moved).collect();
    rules::known("", body, &known, &mut found);
    rules::need_text("", body, "model", &mut found);
    settings_of(body, &mut found);
    tools::check(body, tools::Shape::Flat, &mut found);
    match body.get("input") {
        Some(Value::String(_)) => {}
        Some(Value::Array(input)) => {
            not_empty("input", input, &mut found);
            for (n, item) in input.iter().enumerate() {
                items::check(&format!("input[{n}]"), item, &mut found);
            }
            let goes_on = has(body, "previous_response_id") || has(body, "conversation");
            order::check(input, goes_on, &mut found);
        }
        Some(other) => wrong_type("input", "a string or an array of items", other, &mut found),
        None if has(body, "previous_response_id") || has(body, "prompt") => {}
        None => missing("input", &mut found),
    }
    found.0
}

fn settings_of(body: &Value, found: &mut CheckFindings) {
    settings::check(body, TIERS, found);
    settings::whole(body, "max_output_tokens", 16, found);
    settings::whole(body, "max_tool_calls", 1, found);
    one_of("", body, "truncation", &["auto", "disabled"], found);
    if has(body, "previous_response_id") && has(body, "conversation") {
        let fault = "'previous_response_id' and 'conversation' exclude each other.";
        found.coded(
            "previous_response_id",
            "mutually_exclusive_parameters",
            fault,
        );
    }
    if let Some(options) = body.get("stream_options") {
        rules::known("stream_options", options, &["include_obfuscation"], found);
    }
    for (n, value) in rules::items(body.get("include")).iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        if !INCLUDES.contains(&value) {
            rules::not_supported(&format!("include[{n}]"), value, INCLUDES, found);
        }
    }
    if let Some(form) = body.get("text") {
        rules::known("text", form, &["format", "verbosity"], found);
        one_of("text", form, "verbosity", &["low", "medium", "high"], found);
        if let Some(format) = form.get("format") {
            answer(format, found);
        }
    }
    let reasons = settings::reasons(text(body, "model"));
    if let Some(reasoning) = body.get("reasoning") {
        let known = &["context", "effort", "generate_summary", "mode", "summary"];
        rules::known("reasoning", reasoning, known, found);
        let at = "reasoning";
        settings::effort(at, reasoning, "effort", text(body, "model"), found);
        one_of(
            at,
            reasoning,
            "summary",
            &["auto", "concise", "detailed"],
            found,
        );
        for name in ["effort", "summary"] {
            if has(reasoning, name) && !reasons {
                let at = format!("reasoning.{name}");
                let fault =
                    format!("Unsupported parameter: '{at}' is not supported with this model.");
                found.coded(&at, "unsupported_parameter", &fault);
            }
        }
    }
    if reasons {
        let names = &["temperature", "top_logprobs", "top_p"];
        settings::refused_while_reasoning(body, names, found);
    } else if rules::items(body.get("include"))
        .iter()
        .any(|value| value == "reasoning.encrypted_content")
    {
        let fault = "Encrypted content is not supported with this model.";
        found.add("include", fault);
    }
}

fn answer(format: &Value, found: &mut CheckFindings) {
    match text(format, "type") {
        "json_object" | "text" => {}
        "json_schema" => {
            let known = &["description", "name", "schema", "strict", "type"];
            rules::known("text.format", format, known, found);
            if !has(format, "schema") {
                missing("text.format.schema", found);
            }
            chat::answer_schema("text.format", format, found);
        }
        kind => {
            let known = &["json_object", "json_schema", "text"];
            rules::not_supported("text.format.type", kind, known, found);
        }
    }
}

/// Fields of Chat Completions, and their names here.
const MOVED: &[(&str, &str)] = &[
    ("max_completion_tokens", "max_output_tokens"),
    ("max_tokens", "max_output_tokens"),
    ("messages", "input"),
    ("reasoning_effort", "reasoning.effort"),
    ("response_format", "text.format"),
    ("verbosity", "text.verbosity"),
];
const TIERS: &[&str] = &[
    "auto",
    "default",
    "fast",
    "flex",
    "priority",
    "scale",
    "ultrafast",
];
const INCLUDES: &[&str] = &[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
];
const FIELDS: &[&str] = &[
    "access_programs",
    "background",
    "background_options",
    // The vendor's own agent sends it with every request (Codex 0.169, 2026-11).
    "client_metadata",
    "context_management",
    "conversation",
    "image",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];
