//! Fields that this dialect knows and the domain does not.

use jackfield_dialect_kit::notes::{ExtensionPath, Notes};
use jackfield_dialect_kit::pointer::{set, tokens};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use serde_json::{Value, json};

use crate::profile::Profile;
use crate::responses::{DIALECT, wire};

/// Fields that make the provider act or store something; they are never passed on.
pub(crate) const ACTING: [&str; 7] = [
    "background",
    "background_options",
    "conversation",
    "mcp",
    "previous_response_id",
    "prompt",
    "store",
];

/// Request fields that the mapper sets, or that would contradict one that it sets.
const OURS: [&str; 16] = [
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "model",
    "parallel_tool_calls",
    "safety_identifier",
    "service_tier",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "user",
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
pub(super) fn apply(
    body: &mut wire::Request,
    extensions: &[Extension],
    profile: &Profile,
    notes: &mut Notes,
) {
    // Models without reasoning refuse all fields about it.
    let reasons = !profile.efforts.is_empty();
    for extension in extensions {
        let path = &ExtensionPath {
            extension,
            parent: "settings",
        };
        if *extension.dialect != *DIALECT {
            notes.foreign(extension, path);
            continue;
        }
        let Some(tokens) = tokens(&extension.path) else {
            notes.dropped(NoteEffect::Quality, "extension_path", path);
            continue;
        };
        let first = tokens.first().map_or("", String::as_str);
        if ACTING.contains(&first) || offers_tools(first, &extension.json) {
            notes.refused("provider_would_act", path);
            continue;
        }
        let taken = !OURS.contains(&first) && (reasons || first != "reasoning");
        let set = taken && set_in_body(body, first, &tokens, &extension.json);
        if !set {
            notes.dropped(NoteEffect::Quality, "extension_path", path);
        }
    }
}

/// Sets the extensions of a tool.
pub(super) fn apply_to_tool(
    tool: &mut wire::Tool,
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
        if *extension.dialect != *DIALECT {
            notes.foreign(extension, path);
            continue;
        }
        let tokens = tokens(&extension.path).unwrap_or_default();
        let free = match tokens.as_slice() {
            [first, ..] if acts_in_tool(first, &extension.json) => {
                notes.refused("provider_would_act", path);
                continue;
            }
            [first] => !OURS_OF_TOOL.contains(&first.as_str()),
            [] | [_, _, ..] => false,
        };
        if !(free && set(&mut tool.extra, &tokens, &extension.json)) {
            notes.dropped(NoteEffect::Quality, "extension_path", path);
        }
    }
}

/// Whether a field of a tool lets the provider's code call it.
pub(crate) fn acts_in_tool(field: &str, json: &Value) -> bool {
    field == "allowed_callers" && *json != json!(["direct"])
}

/// Whether the field offers the vendor's own tools, which the vendor would run.
fn offers_tools(first: &str, json: &Value) -> bool {
    let kind = |tool: &Value| tool.get("type").and_then(Value::as_str).map(str::to_owned);
    let hosted = |tool: &Value| {
        kind(tool).is_some_and(|kind| !matches!(kind.as_str(), "custom" | "function"))
    };
    first == "tools"
        && match json {
            Value::Array(tools) => tools.iter().any(hosted),
            Value::Bool(_)
            | Value::Null
            | Value::Number(_)
            | Value::Object(_)
            | Value::String(_) => hosted(json),
        }
}

fn set_in_body(body: &mut wire::Request, first: &str, tokens: &[String], json: &Value) -> bool {
    let below = tokens.get(1..).unwrap_or_default();
    let second = below.first().map_or("", String::as_str);
    match first {
        "reasoning" => {
            !matches!(second, "" | "effort" | "summary")
                && set(
                    &mut body.reasoning.get_or_insert_default().extra,
                    below,
                    json,
                )
        }
        "text" => {
            !matches!(second, "" | "format" | "verbosity")
                && set(&mut body.text.get_or_insert_default().extra, below, json)
        }
        _ => set(&mut body.extra, tokens, json),
    }
}
