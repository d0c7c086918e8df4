//! Claude's rules for a request, checked on the raw JSON.
//!
//! Written from the vendor's documents and independently of our code: code that maps requests wrongly would also
//! check them wrongly.

mod pairing;
mod schema;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::checks::{CheckFindings, Violation};

/// Returns every violation of Claude Messages in the headers; names are passed in lower case.
#[must_use]
pub fn headers<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Vec<Violation> {
    let mut found = CheckFindings::default();
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    if header("x-api-key")
        .or(bearer)
        .unwrap_or_default()
        .trim()
        .is_empty()
    {
        found.add(
            "x-api-key",
            "a key is needed, here or as `Authorization: Bearer`",
        );
    }
    match header("anthropic-version") {
        Some(VERSION | OLD_VERSION) => {}
        Some(other) => found.add(
            "anthropic-version",
            &format!("there is no version {other:?}"),
        ),
        None => found.add("anthropic-version", "header is required"),
    }
    let kind = header("content-type").unwrap_or_default();
    if !kind.starts_with("application/json") {
        found.add("content-type", "has to be application/json");
    }
    found.0
}

/// Parts of the names of models that continue their own words (Claude platform docs, migration page, 2026).
const PREFILL: [&str; 5] = ["claude-3", "-4-0", "-4-1", "-4-2025", "-4-5"];

/// Returns every violation of Claude Messages in a body, for this version of the API.
#[must_use]
pub fn check(body: &Value, version: &str) -> Vec<Violation> {
    let mut found = CheckFindings::default();
    let Some(fields) = body.as_object() else {
        found.add("", "the body is not a JSON object");
        return found.0;
    };
    check_fields(fields, version, &mut found);
    let messages = fields.get("messages").and_then(Value::as_array);
    let messages = messages.map_or(&[][..], Vec::as_slice);
    if messages.is_empty() {
        found.add("messages", "at least one message is needed");
    }
    let tools = check_tools(fields.get("tools"), &mut found);
    for (n, message) in messages.iter().enumerate() {
        check_message(n, message, &mut found);
    }
    let model = body.get("model").and_then(Value::as_str);
    let continues = model.is_some_and(|model| PREFILL.iter().any(|part| model.contains(part)));
    pairing::check(messages, continues, &mut found);
    let uses_tools = messages
        .iter()
        .flat_map(blocks)
        .any(|block| matches!(kind(block), "tool_use" | "tool_result"));
    if uses_tools && tools == 0 {
        found.add(
            "tools",
            "the conversation has tool blocks, and no tools are declared",
        );
    }
    let points = count_cache_points(body);
    if points > MAX_CACHE_POINTS {
        found.add(
            "cache_control",
            &format!("{points} cache points, at most 4 are allowed"),
        );
    }
    found.0
}

/// Whether a beta of this header permits a field of the body.
#[must_use]
pub fn is_beta(field: &str, betas: &str) -> bool {
    let mut known = BETA_FIELDS.iter().filter(|(known, _)| *known == field);
    known.any(|(_, beta)| has_beta(betas, beta))
}

/// The fields that no beta of this header permits.
#[must_use]
pub fn without_beta(body: &Value, betas: &str) -> Vec<Violation> {
    let mut found = CheckFindings::default();
    for (field, beta) in BETA_FIELDS {
        let pointer = format!("/{}", field.replace('.', "/"));
        let value = body.pointer(&pointer).filter(|value| !value.is_null());
        if value.is_some() && !has_beta(betas, beta) {
            found.add(field, "extra inputs are not permitted");
        }
    }
    let messages = body.get("messages").and_then(Value::as_array);
    for (n, message) in messages.into_iter().flatten().enumerate() {
        if message.get("output_config").is_some() && !has_beta(betas, "per-turn-control-") {
            let at = format!("messages.{n}.output_config");
            found.add(&at, "extra inputs are not permitted");
        }
    }
    found.0
}

fn has_beta(betas: &str, start: &str) -> bool {
    betas
        .split(',')
        .any(|named| named.trim().starts_with(start))
}

/// Fields that need a beta, and the prefix of its name.
///
/// Source: the beta parameters of the vendor's Python SDK, and its documents of the betas (2026-11).
const BETA_FIELDS: &[(&str, &str)] = &[
    ("context_management", "context-management-"),
    ("fallbacks", "server-side-fallback-"),
    ("mcp_servers", "mcp-client-"),
    ("output_config.task_budget", "task-budgets-"),
    ("speed", "fast-mode-"),
    ("thread", "message-threads-"),
];

/// Checks the fields of the body other than messages and tools.
fn check_fields(fields: &Map<String, Value>, version: &str, found: &mut CheckFindings) {
    for name in fields
        .keys()
        .filter(|name| !FIELDS.contains(&name.as_str()))
    {
        let is_sampling = SAMPLING.contains(&name.as_str());
        if !is_sampling {
            found.add(name, "extra inputs are not permitted");
        } else if version != OLD_VERSION {
            found.add(
                name,
                "sampling parameters are not taken under this version of the API",
            );
        }
    }
    if fields
        .get("model")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        found.add("model", "a text is needed");
    }
    if fields.get("max_tokens").and_then(Value::as_u64).is_none() {
        found.add("max_tokens", "a whole number is needed");
    }
    if let Some(Value::Array(parts)) = fields.get("system") {
        for (n, part) in parts.iter().enumerate() {
            check_text(&format!("system.{n}"), part, found);
        }
    }
    if let Some(stops) = fields.get("stop_sequences").and_then(Value::as_array) {
        let is_blank = |stop: &Value| stop.as_str().is_none_or(|text| text.trim().is_empty());
        if stops.iter().any(is_blank) {
            found.add(
                "stop_sequences",
                "each has to have a character that is not whitespace",
            );
        }
    }
}

/// Checks the tools; returns their number.
fn check_tools(tools: Option<&Value>, found: &mut CheckFindings) -> usize {
    let tools = tools
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut names = HashSet::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("tools.{n}");
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if !names.insert(name) {
            found.add(&at, "tool names must be unique");
        }
        // The vendor's own tools have a type, but no schema and no custom name.
        if matches!(
            tool.get("type").and_then(Value::as_str),
            None | Some("custom")
        ) {
            let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            if name.is_empty() || name.len() > 128 || !name.bytes().all(fits) {
                found.add(
                    &format!("{at}.name"),
                    "the name does not match ^[a-zA-Z0-9_-]{1,128}$",
                );
            }
            let at = format!("{at}.input_schema");
            schema::check(&at, tool.get("input_schema"), found);
        }
    }
    tools.len()
}

fn check_message(n: usize, message: &Value, found: &mut CheckFindings) {
    let at = format!("messages.{n}");
    let role = message
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !matches!(role, "assistant" | "system" | "user") {
        found.add(&format!("{at}.role"), "has to be user, assistant or system");
    }
    match message.get("content") {
        Some(Value::String(text)) if !text.trim().is_empty() => {}
        Some(Value::Array(parts)) if !parts.is_empty() => {}
        None if role == "system" && message.get("output_config").is_some() => {}
        _ => found.add(&format!("{at}.content"), "at least one block is needed"),
    }
    for (place, block) in blocks(message).iter().enumerate() {
        let at = format!("{at}.content.{place}");
        match (kind(block), role) {
            ("", _) => found.add(&at, "a block needs a type"),
            ("text", _) => check_text(&at, block, found),
            ("tool_use" | "thinking" | "redacted_thinking", "user" | "system") => {
                found.add(&at, "only the assistant can say this");
            }
            ("tool_result", "assistant" | "system") => found.add(&at, "only the user can say this"),
            ("tool_use", _) if !block.get("input").is_some_and(Value::is_object) => {
                found.add(&format!("{at}.input"), "has to be an object");
            }
            ("document", "assistant") => {
                found.add(&at, "a document cannot be said by the assistant");
            }
            _ => {}
        }
        if kind(block) == "tool_result" {
            check_result(&at, block, found);
        }
    }
}

fn check_result(at: &str, block: &Value, found: &mut CheckFindings) {
    let content = block.get("content");
    if let Some(Value::Array(parts)) = content {
        for (n, part) in parts.iter().enumerate() {
            if kind(part) == "text" {
                check_text(&format!("{at}.content.{n}"), part, found);
            }
        }
    }
    let is_empty = match content {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(parts)) => parts.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            found.add(&format!("{at}.content"), "has to be a text or blocks");
            false
        }
    };
    if is_empty && block.get("is_error") == Some(&Value::Bool(true)) {
        found.add(
            &format!("{at}.content"),
            "cannot be empty if is_error is true",
        );
    }
}

fn check_text(at: &str, block: &Value, found: &mut CheckFindings) {
    let text = block
        .get("text")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if text.trim().is_empty() {
        found.add(at, "text content blocks must contain non-whitespace text");
    }
}

/// The blocks of a message; none if its content is a string.
pub(super) fn blocks(message: &Value) -> &[Value] {
    let content = message.get("content").and_then(Value::as_array);
    content.map_or(&[], Vec::as_slice)
}

pub(super) fn kind(block: &Value) -> &str {
    block
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn count_cache_points(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_cache_points).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match name.as_str() {
                "cache_control" => usize::from(!value.is_null()),
                // The inputs and schemas of tools belong to the caller.
                "input" | "input_schema" => 0,
                _ => count_cache_points(value),
            })
            .sum(),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => 0,
    }
}

const VERSION: &str = "2026-10-21";
/// The older version of the API, which is still supported.
pub(super) const OLD_VERSION: &str = "2023-06-01";
const MAX_CACHE_POINTS: usize = 4;
const SAMPLING: &[&str] = &["temperature", "top_k", "top_p"];
const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "thinking",
    "tool_choice",
    "tools",
];
