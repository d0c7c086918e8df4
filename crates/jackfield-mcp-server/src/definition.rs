//! Converts tools to MCP tool definitions.

use std::sync::Arc;

use jackfield_domain::tool::{CatalogEntry, InputFormat, Safety, ToolHints};
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value};

/// The definition of a tool. `legacy` says that the client only supports objects as structured content.
pub(crate) fn tool(entry: &CatalogEntry, hints: Option<&ToolHints>, legacy: bool) -> Tool {
    let definition = &entry.definition;
    let input = match &definition.input {
        InputFormat::Json(schema) => schema.as_object().cloned(),
        InputFormat::Text(_) => None,
    };
    let mut input = input.unwrap_or_default();
    // MCP requires the type.
    input
        .entry("type")
        .or_insert_with(|| Value::String("object".to_owned()));
    let mut tool = Tool::new(
        definition.name.to_string(),
        definition.description.to_string(),
        Arc::new(input),
    );
    tool.annotations = Some(hints.map_or_else(|| annotations(entry), hint_annotations));
    tool.output_schema = output(entry, legacy).map(|schema| Arc::new(schema.clone()));
    tool.title = entry.title.as_deref().map(str::to_owned);
    tool.meta = entry.icon.as_deref().map(|icon| {
        let mut meta = MetaObject::new();
        meta.insert(ICON.to_owned(), icon.into());
        meta
    });
    tool
}

/// The output schema of a tool, if the client supports it.
pub(crate) fn output(entry: &CatalogEntry, legacy: bool) -> Option<&Map<String, Value>> {
    let schema = entry.definition.output.as_deref()?.as_object()?;
    let of_objects = schema.get("type").and_then(Value::as_str) == Some("object");
    (of_objects || !legacy).then_some(schema)
}

/// The hints of the tool's own server.
fn hint_annotations(tool_hints: &ToolHints) -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    hints.title = tool_hints.title.as_deref().map(str::to_owned);
    hints.destructive_hint = tool_hints.destructive;
    hints.idempotent_hint = tool_hints.idempotent;
    hints.open_world_hint = tool_hints.open_world;
    hints.read_only_hint = tool_hints.read_only;
    hints
}

/// The engine's hints about a tool. A server's own hints count only if it is trusted.
fn annotations(entry: &CatalogEntry) -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    hints.title = entry.title.as_deref().map(str::to_owned);
    match entry.safety {
        Safety::Idempotent => {
            hints.read_only_hint = Some(false);
            hints.idempotent_hint = Some(true);
        }
        Safety::ReadOnly => {
            hints.read_only_hint = Some(true);
            hints.idempotent_hint = Some(true);
        }
        // The protocol's default means the same.
        Safety::Unknown => {}
    }
    hints
}

/// The key in `_meta` of a definition for the tool's icon, a character: the protocol's own icons are images with
/// an address.
const ICON: &str = "jackfield/icon";
