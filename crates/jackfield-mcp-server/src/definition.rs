//! A tool of ours in the words of the protocol.

use std::sync::Arc;

use jackfield_domain::tool::{CatalogEntry, InputFormat, Safety, ToolHints};
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value};

/// The definition of a tool; `legacy` says that the client knows none but objects as structured content.
pub(crate) fn tool(entry: &CatalogEntry, hints: Option<&ToolHints>, legacy: bool) -> Tool {
    let definition = &entry.definition;
    let input = match &definition.input {
        InputFormat::Json(schema) => schema.as_object().cloned(),
        InputFormat::Text(_) => None,
    };
    let mut input = input.unwrap_or_default();
    // The protocol wants it said.
    input
        .entry("type")
        .or_insert_with(|| Value::String("object".to_owned()));
    let mut tool = Tool::new(
        definition.name.to_string(),
        definition.description.to_string(),
        Arc::new(input),
    );
    tool.annotations = Some(hints.map_or_else(|| annotations(entry), passed_on));
    tool.output_schema = output(entry, legacy).map(|schema| Arc::new(schema.clone()));
    tool.title = entry.title.as_deref().map(str::to_owned);
    tool.meta = entry.icon.as_deref().map(|icon| {
        let mut meta = MetaObject::new();
        meta.insert(ICON.to_owned(), icon.into());
        meta
    });
    tool
}

/// The schema of a tool's structured content, as far as it can be told.
pub(crate) fn output(entry: &CatalogEntry, legacy: bool) -> Option<&Map<String, Value>> {
    let schema = entry.definition.output.as_deref()?.as_object()?;
    let of_objects = schema.get("type").and_then(Value::as_str) == Some("object");
    (of_objects || !legacy).then_some(schema)
}

/// What the tool's own server says of it.
fn passed_on(said: &ToolHints) -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    hints.title = said.title.as_deref().map(str::to_owned);
    hints.destructive_hint = said.destructive;
    hints.idempotent_hint = said.idempotent;
    hints.open_world_hint = said.open_world;
    hints.read_only_hint = said.read_only;
    hints
}

/// What we know of a tool ourselves: what a server says about its own is believed only if it is trusted.
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
        // Nothing said is what the protocol has for that.
        Safety::Unknown => {}
    }
    hints
}

/// Under this key of `_meta` a definition has the tool's icon, a character: the protocol's own icons are
/// pictures, each with an address.
const ICON: &str = "jackfield/icon";
