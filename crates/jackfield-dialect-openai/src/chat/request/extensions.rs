//! Fields that this dialect knows and the domain does not.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::extensions::{self, Placement, below};
use jackfield_dialect_kit::pointer::set;
use jackfield_domain::opaque::Extension;
use serde_json::{Map, Value};

use crate::chat::{DIALECT, wire};
use crate::tools::OURS_OF_TOOL;

/// Whether a field would make the provider act or store something that a turn cannot carry; such fields are never
/// passed on.
pub(crate) fn acts(field: &str, json: &Value) -> bool {
    match field {
        // Not storing is the default anyway.
        "store" => !matches!(json, Value::Bool(false) | Value::Null),
        // The vendor's fields, then those of servers that run tools of their own.
        "background"
        | "conversation"
        | "previous_response_id"
        | "connectors"
        | "container"
        | "mcp_servers" => !json.is_null(),
        _ => false,
    }
}

/// Whether a field makes the provider search by itself.
///
/// The reply has the sources as annotations, and each request brings the field, so a turn can carry it to a provider
/// of this dialect: `web_search_options` (OpenAI), `plugins` (`OpenRouter`), `search_parameters` (xAI) and
/// `web_search` (others).
pub(crate) fn searches(field: &str, json: &Value) -> bool {
    let fields = [
        "plugins",
        "search_parameters",
        "web_search",
        "web_search_options",
    ];
    fields.contains(&field) && !json.is_null()
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

/// Sets the extensions of a request.
pub(super) fn apply(body: &mut wire::Request, extensions: &[Extension], notes: &mut Notes) {
    extensions::apply(
        extensions,
        DIALECT,
        "settings",
        notes,
        |tokens, extension| {
            let first = tokens.first().map_or("", String::as_str);
            let json = &extension.json;
            if acts(first, json) {
                return Placement::Refused;
            }
            let is_set = match (first, &mut body.stream_options) {
                (first, _) if OURS.contains(&first) => false,
                ("stream_options", Some(options)) => below(tokens, &["include_usage"])
                    .is_some_and(|below| set(&mut options.extra, below, json)),
                ("stream_options", None) => false,
                (_, _) => set(&mut body.extra, tokens, json),
            };
            is_set.into()
        },
    );
}

/// Sets the extensions of a tool, beside its name and description.
pub(super) fn apply_to_tool(
    fields: &mut Map<String, Value>,
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
            [first] if !OURS_OF_TOOL.contains(&first.as_str()) => {
                set(fields, tokens, &extension.json).into()
            }
            [] | [_, ..] => Placement::NoPlace,
        },
    );
}
