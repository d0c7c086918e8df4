//! Fields that this dialect knows and the domain does not.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::extensions::{self, Placement, below};
use jackfield_dialect_kit::pointer::set;
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
    extensions::apply(
        extensions,
        DIALECT,
        "settings",
        notes,
        |tokens, extension| {
            let first = tokens.first().map_or("", String::as_str);
            if is_set_elsewhere(extension, cached) {
                Placement::Set
            } else if ACTING.contains(&first) {
                Placement::Refused
            } else {
                let is_free = !OURS.contains(&first);
                (is_free && set_in_body(body, first, tokens, &extension.json)).into()
            }
        },
    );
}

/// Sets the extensions of a tool.
pub(super) fn apply_to_tool(
    tool: &mut wire::Tool,
    n: usize,
    extensions: &[Extension],
    notes: &mut Notes,
) {
    let parent = format_args!("tools[{n}]");
    extensions::apply(
        extensions,
        DIALECT,
        parent,
        notes,
        |tokens, extension| match tokens {
            // The provider's code would call the tool.
            [first] if first == "allowed_callers" && extension.json != json!(["direct"]) => {
                Placement::Refused
            }
            [first] if !OURS_OF_TOOL.contains(&first.as_str()) => {
                set(&mut tool.extra, tokens, &extension.json).into()
            }
            [] | [_, ..] => Placement::NoPlace,
        },
    );
}

fn set_in_body(body: &mut wire::Request, first: &str, tokens: &[String], json: &Value) -> bool {
    match first {
        "metadata" => below(tokens, &["user_id"]).is_some_and(|below| {
            set(
                &mut body.metadata.get_or_insert_default().extra,
                below,
                json,
            )
        }),
        "output_config" => below(tokens, &["effort", "format"]).is_some_and(|below| {
            let config = body.output_config.get_or_insert_default();
            set(&mut config.extra, below, json)
        }),
        "thinking" => match &mut body.thinking {
            Some(thinking) if thinking.kind == "disabled" => false,
            Some(thinking) => {
                let below = tokens.get(1..).unwrap_or_default();
                let name = below.first().map_or("", String::as_str);
                !matches!(name, "budget_tokens" | "display" | "type")
                    && set(&mut thinking.extra, below, json)
            }
            None => false,
        },
        _ => set(&mut body.extra, tokens, json),
    }
}
