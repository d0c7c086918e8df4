//! Server tool calls, in the vendor's form for tools of MCP servers (beta `mcp-client-2025-11-20`).

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome};
use jackfield_domain::server_tool::ServerTool;
use serde_json::{Map, Value, json};

use crate::wire;

/// The type of a call's block.
pub(crate) const CALL: &str = "mcp_tool_use";
/// The type of an outcome's block.
pub(crate) const OUTCOME: &str = "mcp_tool_result";

pub(crate) fn call(id: &str, tool: ServerTool<'_>, input: Map<String, Value>) -> wire::Block {
    let mut fields = Map::new();
    for (key, json) in [
        ("type", json!(CALL)),
        ("id", json!(id)),
        ("name", json!(tool.tool)),
        ("server_name", json!(tool.server)),
        ("input", Value::Object(input)),
    ] {
        fields.insert(key.to_owned(), json);
    }
    wire::Block::Other(fields)
}

/// The block of an outcome: only text, as the vendor has no other content there.
pub(crate) fn outcome(outcome: &ToolOutcome, path: &str, notes: &mut Notes) -> wire::Block {
    let result = &outcome.result;
    let mut content = Vec::with_capacity(result.content.len());
    for (k, part) in result.content.iter().enumerate() {
        let words = match part {
            OutcomePart::Text(text) => {
                content.push(text_part(text));
                continue;
            }
            OutcomePart::Audio(audio) => media_text::audio(audio),
            OutcomePart::Document(document) => media_text::source("document", &document.source),
            OutcomePart::Image(image) => media_text::source("image", &image.source),
        };
        let path = format_args!("{path}.result.content[{k}]");
        notes.approximated(NoteEffect::Quality, "media_as_text", path);
        content.push(text_part(&words));
    }
    if let Some(json) = &result.structured {
        if content.is_empty() {
            let path = format_args!("{path}.result");
            notes.approximated(NoteEffect::Cosmetic, "structured_as_text", path);
            content.push(text_part(&json.to_string()));
        } else {
            let path = format_args!("{path}.result.structured");
            notes.dropped(NoteEffect::Cosmetic, "structured_not_sent", path);
        }
    }
    let mut fields = Map::new();
    for (key, json) in [
        ("type", json!(OUTCOME)),
        ("tool_use_id", json!(outcome.call.as_str())),
        ("is_error", json!(result.is_error)),
        ("content", Value::Array(content)),
    ] {
        fields.insert(key.to_owned(), json);
    }
    wire::Block::Other(fields)
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
