//! Fields that this dialect knows and the domain does not.

use std::fmt::Display;

use jackfield_dialect_kit::notes::{ExtensionPath, Notes};
use jackfield_dialect_kit::pointer::{set, tokens};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use serde_json::{Map, Value};

use crate::chat::{DIALECT, wire};

/// Whether a field would make the provider act or store something; such fields are never passed on.
pub(crate) fn acts(field: &str, json: &Value) -> bool {
    match field {
        // Not storing is the default anyway.
        "store" => !matches!(json, Value::Bool(false) | Value::Null),
        // The vendor's fields, then those of servers that run tools of their own.
        "background"
        | "conversation"
        | "previous_response_id"
        | "web_search_options"
        | "connectors"
        | "container"
        | "mcp_servers"
        | "plugins"
        | "search_parameters"
        | "web_search" => !json.is_null(),
        _ => false,
    }
}

/// Request fields that the mapper sets, or that would contradict one that it sets.
const OURS: [&str; 24] = [
    "frequency_penalty",
    "function_call",
    "functions",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "stream",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "user",
    "verbosity",
];

/// Fields of a tool that the mapper sets.
const OURS_OF_TOOL: [&str; 6] = [
    "description",
    "format",
    "name",
    "parameters",
    "strict",
    "type",
];

/// Sets the extensions of a request.
pub(super) fn apply(body: &mut wire::Request, extensions: &[Extension], notes: &mut Notes) {
    for extension in extensions {
        let path = &ExtensionPath {
            extension,
            parent: "settings",
        };
        let Some(tokens) = known(extension, notes, path) else {
            continue;
        };
        let first = tokens.first().map_or("", String::as_str);
        if acts(first, &extension.json) {
            notes.refused("provider_would_act", path);
            continue;
        }
        let set = match (first, &mut body.stream_options) {
            (first, _) if OURS.contains(&first) => false,
            ("stream_options", Some(options)) => {
                let below = tokens.get(1..).unwrap_or_default();
                let second = below.first().map_or("", String::as_str);
                !matches!(second, "" | "include_usage")
                    && set(&mut options.extra, below, &extension.json)
            }
            ("stream_options", None) => false,
            (_, _) => set(&mut body.extra, &tokens, &extension.json),
        };
        if !set {
            notes.dropped(NoteEffect::Quality, "extension_path", path);
        }
    }
}

/// Sets the extensions of a tool, beside its name and description.
pub(super) fn apply_to_tool(
    fields: &mut Map<String, Value>,
    n: usize,
    extensions: &[Extension],
    notes: &mut Notes,
) {
    for extension in extensions {
        let of = format_args!("tools[{n}]");
        let path = &ExtensionPath {
            extension,
            parent: of,
        };
        let Some(tokens) = known(extension, notes, path) else {
            continue;
        };
        let free = match tokens.as_slice() {
            [first] => !OURS_OF_TOOL.contains(&first.as_str()),
            [] | [_, _, ..] => false,
        };
        if !(free && set(fields, &tokens, &extension.json)) {
            notes.dropped(NoteEffect::Quality, "extension_path", path);
        }
    }
}

/// The path of an extension, if it belongs to this dialect.
fn known(extension: &Extension, notes: &mut Notes, path: impl Display) -> Option<Vec<String>> {
    if *extension.dialect != *DIALECT {
        notes.foreign(extension, path);
        return None;
    }
    let tokens = tokens(&extension.path);
    if tokens.is_none() {
        notes.dropped(NoteEffect::Quality, "extension_path", path);
    }
    tokens
}
