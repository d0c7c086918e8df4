//! Fields that this dialect knows and the domain does not.

use jackfield_dialect_kit::notes::{ExtensionPath, Notes};
use jackfield_dialect_kit::pointer::{set, tokens};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use serde_json::{Value, json};

use crate::DIALECT;
use crate::wire;

/// Fields that make the provider act or store something; they are never passed on.
pub(crate) const ACTING: [&str; 3] = ["container", "mcp_servers", "thread"];

/// Request fields that the mapper sets, or that would contradict one that it sets.
const OURS: [&str; 13] = [
    "max_tokens",
    "messages",
    "model",
    "output_format",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Fields of a tool that the mapper sets.
const OURS_OF_TOOL: [&str; 5] = ["description", "input_schema", "name", "strict", "type"];

/// The path of extensions of the client's part of the system prompt; its index and a field follow.
pub(super) const SYSTEM: &str = "/system";
/// The path of the client's betas, which are sent in a header.
pub(crate) const BETAS: &str = "/betas";

/// Whether an extension is not a part of the body, or was set before.
fn is_set_elsewhere(extension: &Extension, cached: &[String]) -> bool {
    extension.path == BETAS || cached.contains(&extension.path)
}

/// Sets the extensions of a request; the cached paths of the system prompt are set already.
pub(super) fn apply(
    body: &mut wire::Request,
    extensions: &[Extension],
    cached: &[String],
    notes: &mut Notes,
) {
    for extension in extensions {
        let path = &ExtensionPath {
            extension,
            parent: "settings",
        };
        if *extension.dialect != *DIALECT {
            notes.foreign(extension, path);
            continue;
        }
        if is_set_elsewhere(extension, cached) {
            continue;
        }
        let Some(tokens) = tokens(&extension.path) else {
            notes.dropped(NoteEffect::Quality, "extension_path", path);
            continue;
        };
        let first = tokens.first().map_or("", String::as_str);
        if ACTING.contains(&first) {
            notes.refused("provider_would_act", path);
            continue;
        }
        let set = !OURS.contains(&first) && set_in_body(body, first, &tokens, &extension.json);
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
            // The provider's code would call the tool.
            [first] if first == "allowed_callers" && extension.json != json!(["direct"]) => {
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

fn set_in_body(body: &mut wire::Request, first: &str, tokens: &[String], json: &Value) -> bool {
    let below = tokens.get(1..).unwrap_or_default();
    let second = below.first().map_or("", String::as_str);
    match first {
        "metadata" => {
            !matches!(second, "" | "user_id")
                && set(
                    &mut body.metadata.get_or_insert_default().extra,
                    below,
                    json,
                )
        }
        "output_config" => {
            !matches!(second, "" | "effort" | "format")
                && set(
                    &mut body.output_config.get_or_insert_default().extra,
                    below,
                    json,
                )
        }
        "thinking" => match &mut body.thinking {
            Some(thinking) if thinking.kind == "disabled" => false,
            Some(thinking) => {
                !matches!(second, "budget_tokens" | "display" | "type")
                    && set(&mut thinking.extra, below, json)
            }
            None => false,
        },
        _ => set(&mut body.extra, tokens, json),
    }
}
