//! Vendor features that Jackfield does not offer: refused by name, never silently ignored.

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use serde_json::{Map, Value};

use crate::responses::request::{CUSTOM, FUNCTION, is_carried};

pub(super) fn betas(header: &dyn Fn(&str) -> Option<String>) -> Result<(), ServeError> {
    let betas = header("openai-beta").unwrap_or_default();
    // `responses=experimental` and similar values are not betas any more.
    let mut betas = betas.split(',').map(str::trim);
    match betas.find(|beta| beta.starts_with("responses_")) {
        Some(beta) => {
            let reason = format!("the beta `{beta}` is not served: leave it out of OpenAI-Beta");
            Err(unsupported(reason))
        }
        None => Ok(()),
    }
}

/// Removes those of the vendor's tools that agents offer with every request and can do without, with a note for
/// each; if `is_own`, the provider is of this dialect, and is sent those that a turn can carry. If the client offers no
/// other tools, they are essential to the request, and [`fields`] refuses it.
pub(super) fn leave_out_hosted(body: &mut Map<String, Value>, is_own: bool) -> Vec<Note> {
    let Some(Value::Array(tools)) = body.get_mut("tools") else {
        return Vec::new();
    };
    let is_optional = |tool: &Value| {
        let kind = kind_of(tool);
        let is_known = OPTIONAL.contains(&kind) || kind.starts_with("web_search_preview_");
        is_known && !(is_own && is_carried(kind))
    };
    if tools.iter().all(is_optional) {
        return Vec::new();
    }
    let note = |tool: &Value| Note {
        code: "hosted_tool_left_out".into(),
        effect: NoteEffect::Quality,
        kind: NoteKind::Dropped,
        path: format!("tools.{}", kind_of(tool)),
    };
    let left_out = tools.iter().filter(|tool| is_optional(tool));
    let notes = left_out.map(note).collect();
    tools.retain(|tool| !is_optional(tool));
    notes
}

/// The vendor's tools that need no configuration in a request.
const OPTIONAL: [&str; 8] = [
    "apply_patch",
    "image_generation",
    "local_shell",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
    "web_search_preview",
];

/// Whether a body has tools of the vendor's own.
pub(super) fn has_hosted(body: &Map<String, Value>) -> bool {
    let tools = body.get("tools").and_then(Value::as_array);
    let mut tools = tools.into_iter().flatten();
    tools.any(|tool| !matches!(kind_of(tool), "" | CUSTOM | FUNCTION))
}

/// Refuses fields and tools by which a body asks the vendor to act, unless a turn can carry what becomes of it.
pub(super) fn fields(body: &Map<String, Value>, is_own: bool) -> Result<(), ServeError> {
    for (field, instead) in REFUSED {
        if body.get(*field).is_some_and(|json| !json.is_null()) {
            let reason = format!("`{field}` is not served: {instead}");
            return Err(unsupported(reason).at(*field));
        }
    }
    let tools = body.get("tools").and_then(Value::as_array);
    for (n, tool) in tools.into_iter().flatten().enumerate() {
        let kind = kind_of(tool);
        if !is_served(kind, is_own) {
            return Err(hosted(kind).at(format!("tools.{n}")));
        }
    }
    choice(body.get("tool_choice"), is_own)
}

/// Whether a type of tool is served.
fn is_served(kind: &str, is_own: bool) -> bool {
    matches!(kind, "" | CUSTOM | FUNCTION) || is_own && is_carried(kind)
}

fn choice(choice: Option<&Value>, is_own: bool) -> Result<(), ServeError> {
    let Some(choice) = choice.filter(|choice| choice.is_object()) else {
        return Ok(());
    };
    let kind = kind_of(choice);
    if kind != "allowed_tools" && !is_served(kind, is_own) {
        return Err(hosted(kind).at("tool_choice"));
    }
    let tools = choice.get("tools").and_then(Value::as_array);
    for (n, tool) in tools.into_iter().flatten().enumerate() {
        let kind = kind_of(tool);
        if !is_served(kind, is_own) {
            return Err(hosted(kind).at(format!("tool_choice.tools.{n}")));
        }
    }
    Ok(())
}

/// The error for a tool that the vendor would run or search.
fn hosted(kind: &str) -> ServeError {
    let reason = if kind == "mcp" {
        "a server that the request names is not called: put it into Jackfield's own configuration, and choose its tools with X-Jackfield-Tools".to_owned()
    } else {
        let kind: String = kind.chars().take(64).collect();
        format!(
            "the tool `{kind}` is not served: only `function` and `custom` tools are, and Jackfield's own by X-Jackfield-Tools"
        )
    };
    unsupported(reason)
}

fn kind_of(tool: &Value) -> &str {
    let kind = tool.get("type").and_then(Value::as_str);
    kind.unwrap_or_default()
}

fn unsupported(reason: impl Into<String>) -> ServeError {
    ServeError::new(ServeErrorKind::Unsupported, reason)
}

/// Fields for unsupported features, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    (
        "background_options",
        "a response in the background begins at once",
    ),
    (
        "conversation",
        "go on from a response with `previous_response_id`, or name a session with X-Session-ID",
    ),
    (
        "prompt",
        "no prompts are kept: send `instructions` and `input`",
    ),
];
