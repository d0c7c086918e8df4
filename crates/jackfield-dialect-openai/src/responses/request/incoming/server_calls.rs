//! Reads server tool calls that a client sends back.

use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::naming;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Map, Value};

use super::items::RequestReader;
use crate::responses::state;

impl RequestReader<'_> {
    /// The call in an `mcp_call` and its outcome; `None` if Jackfield cannot have sent it.
    pub(super) fn server_call(&mut self, fields: &Map<String, Value>) -> Option<Vec<Block>> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let toolbox = ToolboxId::parse(text("server_label")?).ok()?;
        let tool = text("name").filter(|name| !name.is_empty())?;
        let arguments = fields.get("arguments").map(state::arguments_text)?;
        let (id, upstream) = self.ids.register_call(text("id").unwrap_or("mcp_call"));
        let name = naming::tool_name(&toolbox, tool);
        let state = ServerTool::state(&ToolOrigin {
            tool: tool.into(),
            toolbox,
        });
        let call = Content::ToolCall(Arc::new(ToolCall {
            id: id.clone(),
            input: ToolInput::Json(JsonInput::parse(&arguments)),
            name: CalledName::from(&name),
            ran_by: RanBy::Provider,
            upstream,
        }));
        let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
            call: id,
            opaque: Vec::new(),
            result: result(fields),
        }));
        let blocks = [(call, state.clone()), (outcome, state)];
        Some(blocks.map(|(content, shown)| with(content, shown)).into())
    }
}

fn with(content: Content, state: OpaqueState) -> Block {
    Block {
        cache: None,
        content,
        opaque: vec![state],
    }
}

/// The outcome, from the text in which it was sent.
fn result(fields: &Map<String, Value>) -> ToolResult {
    match (fields.get("error"), fields.get("output")) {
        (None | Some(Value::Null), Some(Value::String(output))) => ToolResult::text(&**output),
        (None | Some(Value::Null), _) => ToolResult::error("the outcome of this call is not known"),
        (Some(error), _) => ToolResult::error(complaint(error)),
    }
}

/// The text of an error: a string, its content, or its message.
fn complaint(error: &Value) -> String {
    let parts = error.get("content").and_then(Value::as_array);
    let texts = parts.into_iter().flatten();
    let texts: Vec<&str> = texts
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    if !texts.is_empty() {
        return texts.join("\n");
    }
    let message = error.as_str().or_else(|| error.get("message")?.as_str());
    message.map_or_else(|| error.to_string(), str::to_owned)
}
