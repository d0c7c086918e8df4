//! The item of a server tool call: call and outcome are one item, `mcp_call`.

use jackfield_dialect_kit::media_text;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::server_tool::ServerTool;
use serde_json::{Map, Value, json};

use crate::responses::wire::Item;

#[derive(Debug)]
pub(crate) struct ServerCall {
    arguments: String,
    id: String,
    server: String,
    tool: String,
}

impl ServerCall {
    /// A call of this tool, without arguments.
    pub(crate) fn new(id: String, tool: ServerTool<'_>) -> Self {
        Self {
            arguments: String::new(),
            id,
            server: tool.server.to_owned(),
            tool: tool.tool.to_owned(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn set_arguments(&mut self, arguments: &str) {
        arguments.clone_into(&mut self.arguments);
    }

    pub(crate) fn started_item(&self) -> Item {
        self.item("in_progress", Value::Null, Value::Null)
    }

    /// The item at its end; without an outcome none will follow.
    pub(crate) fn ended_item(&self, outcome: Option<&ToolResult>) -> Item {
        match outcome {
            None => self.item("incomplete", Value::Null, Value::Null),
            Some(result) if result.is_error => {
                let content = json!([{ "type": "text", "text": output(result) }]);
                let error = json!({ "type": "mcp_tool_execution_error", "content": content });
                self.item("failed", Value::Null, error)
            }
            Some(result) => self.item("completed", output(result).into(), Value::Null),
        }
    }

    fn item(&self, status: &str, output: Value, error: Value) -> Item {
        let fields = [
            ("type", "mcp_call".into()),
            ("id", (*self.id).into()),
            ("status", status.into()),
            ("server_label", (*self.server).into()),
            ("name", (*self.tool).into()),
            ("arguments", (*self.arguments).into()),
            ("output", output),
            ("error", error),
        ];
        let fields = fields.map(|(key, json)| (key.to_owned(), json));
        Item::Other(Map::from_iter(fields))
    }
}

/// An outcome as text, which the vendor's item requires.
fn output(result: &ToolResult) -> String {
    let parts = result.content.iter().map(|part| match part {
        OutcomePart::Audio(audio) => media_text::audio(audio),
        OutcomePart::Document(document) => media_text::source("document", &document.source),
        OutcomePart::Image(image) => media_text::source("image", &image.source),
        OutcomePart::Text(text) => (**text).to_owned(),
    });
    let parts: Vec<String> = parts.collect();
    match &result.structured {
        Some(json) if parts.is_empty() => json.to_string(),
        Some(_) | None => parts.join("\n"),
    }
}
