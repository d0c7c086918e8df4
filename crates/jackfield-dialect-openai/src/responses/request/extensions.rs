//! Fields that this dialect knows and the domain does not.

use std::borrow::Cow;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::extensions::{self, Placement, below};
use jackfield_dialect_kit::pointer::set;
use jackfield_domain::opaque::Extension;
use serde_json::{Value, json};

use crate::chat::DIALECT as CHAT;
use crate::profile::{Profile, fields};
use crate::responses::{DIALECT, wire};
use crate::tools::OURS_OF_TOOL;

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

/// Sets the extensions of a request.
pub(super) fn apply(
    body: &mut wire::Request,
    extensions: &[Extension],
    profile: &Profile,
    notes: &mut Notes,
) {
    let extensions = &own_cache_key(extensions, profile);
    // Models without reasoning refuse all fields about it.
    let reasons = !profile.efforts.is_empty();
    extensions::apply(
        extensions,
        DIALECT,
        "settings",
        notes,
        |tokens, extension| {
            let first = tokens.first().map_or("", String::as_str);
            let json = &extension.json;
            if extension.path == INCLUDE {
                return (profile.hosted_tools && include(body, json)).into();
            }
            if ACTING.contains(&first) || offers_tools(first, json) {
                return Placement::Refused;
            }
            let is_free = !OURS.contains(&first) && (reasons || first != "reasoning");
            (is_free && set_in_body(body, first, tokens, json)).into()
        },
    );
}

/// The extensions, in which a client's key is one of Responses although it came by Chat Completions: both have the field.
fn own_cache_key<'a>(extensions: &'a [Extension], profile: &Profile) -> Cow<'a, [Extension]> {
    let is_other = |one: &Extension| {
        let is_key = one.path.strip_prefix('/') == Some(fields::CACHE_KEY);
        profile.cache_key && is_key && *one.dialect == *CHAT
    };
    if !extensions.iter().any(is_other) {
        return extensions.into();
    }
    let own = extensions.iter().map(|one| match one {
        one if is_other(one) => Extension {
            dialect: DIALECT.into(),
            ..one.clone()
        },
        one => one.clone(),
    });
    own.collect()
}

/// Adds to what the reply has to include; returns whether there is anything.
fn include(body: &mut wire::Request, json: &Value) -> bool {
    let Some(wanted) = json.as_array() else {
        return false;
    };
    let included = body.include.get_or_insert_default();
    let wanted = wanted.iter();
    let wanted = wanted.filter_map(Value::as_str).map(str::to_owned);
    for wanted in wanted {
        if !included.contains(&wanted) {
            included.push(wanted);
        }
    }
    true
}

/// The path of an extension: what replies have to include of the vendor's own tools.
pub(crate) const INCLUDE: &str = "/include";

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
            [first, ..] if acts_in_tool(first, &extension.json) => Placement::Refused,
            [first] if !OURS_OF_TOOL.contains(&first.as_str()) => {
                set(&mut tool.extra, tokens, &extension.json).into()
            }
            [] | [_, ..] => Placement::NoPlace,
        },
    );
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
    match first {
        "reasoning" => below(tokens, &["effort", "summary"]).is_some_and(|below| {
            let reasoning = body.reasoning.get_or_insert_default();
            set(&mut reasoning.extra, below, json)
        }),
        "text" => below(tokens, &["format", "verbosity"])
            .is_some_and(|below| set(&mut body.text.get_or_insert_default().extra, below, json)),
        _ => set(&mut body.extra, tokens, json),
    }
}
