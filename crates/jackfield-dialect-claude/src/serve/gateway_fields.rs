//! Validates the fields of a body that address the server and not the model.

use std::collections::HashSet;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::ids::ToolName;
use jackfield_domain::note::{Note, NoteEffect};
use serde_json::{Value, json};

use super::betas::{FILES, TOOLS};
use crate::request::is_set_of_tools;
use crate::wire::{Block, Content, InputMessage, Request, Source, Tool};

/// Refuses fields that would make a server act or store something that a turn cannot carry, and fields that no vendor
/// accepts; removes fields without an effect. `is_own` says whether the provider is of this dialect.
pub(super) fn check(body: &mut Request, is_own: bool) -> Result<(), ServeError> {
    body.extra.retain(|_, json| !is_empty_value(json));
    if body.extra.contains_key("thread") {
        let message = format!("`thread` is not served: {THREAD}");
        return Err(ServeError::new(ServeErrorKind::ThreadUnsupported, message).at("thread"));
    }
    for (field, why) in ACTING {
        if body.extra.contains_key(field) {
            return Err(unsupported(
                field,
                &format!("`{field}` is not served: {why}"),
            ));
        }
    }
    for (n, tool) in body.tools.iter().flatten().enumerate() {
        check_tool(tool, n, is_own)?;
    }
    let mut called = HashSet::new();
    for (n, message) in body.messages.iter().enumerate() {
        check_message(message, n, &mut called)?;
    }
    Ok(())
}

/// Removes the tools that the vendor runs and that agents offer with every request, with a note for each. If the
/// client offers no other tools, they are essential to the request, and [`check`] refuses it.
pub(super) fn leave_out_hosted(body: &mut Request) -> Vec<Note> {
    let Some(tools) = &mut body.tools else {
        return Vec::new();
    };
    if tools.iter().all(is_hosted) {
        return Vec::new();
    }
    let mut notes = Notes::default();
    for tool in tools.iter().filter(|tool| is_hosted(tool)) {
        let kind = tool.kind.as_deref().unwrap_or_default();
        let path = format_args!("tools.{kind}");
        notes.dropped(NoteEffect::Quality, "hosted_tool_left_out", path);
    }
    tools.retain(|tool| !is_hosted(tool));
    notes.into_vec()
}

fn is_hosted(tool: &Tool) -> bool {
    let kind = tool.kind.as_deref().unwrap_or_default();
    HOSTED.iter().any(|hosted| {
        let version = kind.strip_prefix(hosted);
        version.is_some_and(|version| version.starts_with('_'))
    })
}

fn check_tool(tool: &Tool, n: usize, is_own: bool) -> Result<(), ServeError> {
    if let Some(kind) = tool.kind.as_deref().filter(|kind| *kind != "custom") {
        let name = tool.name.as_deref().unwrap_or_default();
        let is_carried = !is_set_of_tools(kind) && ToolName::parse(name).is_ok();
        if is_own && is_carried {
            return Ok(());
        }
        if is_own {
            let kind: String = kind.chars().take(60).collect();
            let message = format!(
                "the vendor's tool `{kind}` is not served in a turn: the calls of a set of tools have other names"
            );
            return Err(unsupported(&format!("tools.{n}.type"), &message));
        }
        let kind: String = kind.chars().take(60).collect();
        let message = format!(
            "the vendor's tool `{kind}` is not served: {TOOLS}; a tool that the client runs needs a name and a schema of its own"
        );
        return Err(unsupported(&format!("tools.{n}.type"), &message));
    }
    let callers = tool.extra.get("allowed_callers");
    if callers.is_some_and(|callers| *callers != json!(["direct"])) {
        let message = format!("code of the provider's cannot call tools: {TOOLS}");
        return Err(unsupported(&format!("tools.{n}.allowed_callers"), &message));
    }
    Ok(())
}

fn check_message<'a>(
    message: &'a InputMessage,
    n: usize,
    called: &mut HashSet<&'a str>,
) -> Result<(), ServeError> {
    let Some(Content::Blocks(blocks)) = &message.content else {
        return Ok(());
    };
    let mut answered = HashSet::new();
    for (b, block) in blocks.iter().enumerate() {
        let place = || format!("messages.{n}.content.{b}");
        check_file(block, place)?;
        match block {
            Block::ToolUse(call) if !called.insert(&call.id) => {
                let message = "two calls have this id";
                return Err(invalid(&format!("{}.id", place()), message));
            }
            Block::ToolResult(result) => {
                if !answered.insert(&result.tool_use_id) {
                    let message = "two results are for this call";
                    return Err(invalid(&format!("{}.tool_use_id", place()), message));
                }
                if let Some(Content::Blocks(parts)) = &result.content {
                    for (k, part) in parts.iter().enumerate() {
                        check_file(part, || format!("{}.content.{k}", place()))?;
                    }
                }
            }
            Block::Document { .. }
            | Block::Image { .. }
            | Block::Other(_)
            | Block::RedactedThinking { .. }
            | Block::Text { .. }
            | Block::Thinking { .. }
            | Block::ToolUse(_) => {}
        }
    }
    Ok(())
}

/// Refuses a file by its id, as files cannot be uploaded here.
fn check_file(block: &Block, place: impl Fn() -> String) -> Result<(), ServeError> {
    let by_id = match block {
        Block::Document { source, .. } | Block::Image { source, .. } => {
            matches!(source, Source::File { .. })
        }
        Block::Other(fields) => {
            fields.get("type").and_then(Value::as_str) == Some("container_upload")
        }
        Block::RedactedThinking { .. }
        | Block::Text { .. }
        | Block::Thinking { .. }
        | Block::ToolResult(_)
        | Block::ToolUse(_) => false,
    };
    if by_id {
        let message = format!("a file by its id is not served: {FILES}");
        return Err(unsupported(&place(), &message));
    }
    Ok(())
}

/// Whether a field has no effect.
fn is_empty_value(json: &Value) -> bool {
    match json {
        Value::Array(list) => list.is_empty(),
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn invalid(place: &str, message: &str) -> ServeError {
    ServeError::new(ServeErrorKind::Invalid, message).at(place)
}

fn unsupported(place: &str, message: &str) -> ServeError {
    ServeError::new(ServeErrorKind::Unsupported, message).at(place)
}

/// The vendor's own tools, without their versions (Claude's tool reference, 2026-11).
const HOSTED: [&str; 5] = [
    "advisor",
    "code_execution",
    "tool_search_tool",
    "web_fetch",
    "web_search",
];

/// Fields that would make a server act or store something.
const ACTING: [(&str, &str); 6] = [
    (
        "compaction",
        "the conversation is not summarized for a client",
    ),
    ("container", TOOLS),
    ("fallback_credit_token", FALLBACKS),
    ("fallbacks", FALLBACKS),
    ("mcp_servers", SERVERS),
    ("user_profile_id", "there are no profiles here"),
];

const FALLBACKS: &str = "the model that is asked for is the one that answers";
const SERVERS: &str =
    "a client cannot name servers; those of the configuration are chosen by `X-Jackfield-Tools`";
const THREAD: &str = "send the history, or go on with a session by `X-Session-ID`";
