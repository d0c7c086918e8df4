//! Maps a client's tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::tool_name;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::ids::ToolName;
use jackfield_domain::tool::{Grammar, InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::Invalid;
use super::settings::extension;
use crate::responses::request::extensions::acts_in_tool;
use crate::responses::request::tools::{CUSTOM, FUNCTION};
use crate::responses::wire;

/// Maps the tools. Tools that the vendor runs or searches are refused with a note.
pub(super) fn from_wire(
    tools: Vec<wire::Tool>,
    notes: &mut Notes,
) -> Result<Vec<Arc<ToolDefinition>>, Invalid> {
    let mut definitions = Vec::with_capacity(tools.len());
    for (n, tool) in tools.iter().enumerate() {
        if !matches!(tool.kind.as_str(), "" | CUSTOM | FUNCTION) {
            notes.refused("vendor_tool", format_args!("tools.{n}"));
            continue;
        }
        definitions.push(Arc::new(definition(tool, n)?));
        for (key, json) in &tool.extra {
            if acts_in_tool(key, json) {
                notes.refused("provider_would_act", format_args!("tools.{n}.{key}"));
            }
        }
    }
    Ok(definitions)
}

/// The definition of the `n`th tool of a request.
fn definition(tool: &wire::Tool, n: usize) -> Result<ToolDefinition, Invalid> {
    let input = if tool.kind == CUSTOM {
        InputFormat::Text(match &tool.format {
            Some(wire::ToolFormat::Grammar { definition, syntax }) => Some(Grammar {
                definition: definition.as_str().into(),
                syntax: syntax.as_str().into(),
            }),
            Some(wire::ToolFormat::Text {}) | None => None,
        })
    } else {
        let nothing = || Arc::new(json!({ "type": "object", "properties": {} }));
        let schema = tool.parameters.clone().unwrap_or_else(nothing);
        if !schema.is_object() {
            let path = format!("tools.{n}.parameters");
            return Err(Invalid::new(path, "a schema is an object"));
        }
        InputFormat::Json(schema)
    };
    let name = tool.name.as_deref().unwrap_or_default();
    let kept = tool
        .extra
        .iter()
        .filter(|(key, json)| !acts_in_tool(key, json));
    Ok(ToolDefinition {
        description: tool.description.as_deref().unwrap_or_default().into(),
        extensions: kept
            .map(|(key, json)| extension("", key, json.clone()))
            .collect(),
        input,
        name: tool_name(name, format!("tools.{n}.name"))?,
        output: None,
        strict: tool.strict.flatten(),
    })
}

/// Maps the choice; that of a vendor's tool is refused with a note.
pub(super) fn choice(
    choice: Option<wire::ToolChoice>,
    notes: &mut Notes,
) -> Result<ToolChoice, Invalid> {
    let path = "tool_choice";
    Ok(match choice {
        None => ToolChoice::Auto,
        Some(wire::ToolChoice::Word(word)) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::Forbidden,
            "required" => ToolChoice::Required,
            other => {
                let reason = format!("`{other}` is no choice");
                return Err(Invalid::new(path, reason));
            }
        },
        Some(wire::ToolChoice::Chosen(chosen)) => match chosen {
            wire::Chosen::AllowedTools { mode, tools } => {
                let names: Result<Vec<ToolName>, Invalid> = tools
                    .iter()
                    .enumerate()
                    .filter_map(|(n, tool)| reference(n, tool, notes))
                    .collect();
                ToolChoice::Only {
                    required: mode == "required",
                    tools: names?,
                }
            }
            wire::Chosen::Custom { name: wanted } | wire::Chosen::Function { name: wanted } => {
                ToolChoice::Named(tool_name(&wanted, "tool_choice.name")?)
            }
            wire::Chosen::Other(_) => {
                notes.refused("vendor_tool", path);
                ToolChoice::Auto
            }
        },
    })
}

fn reference(
    n: usize,
    tool: &Map<String, Value>,
    notes: &mut Notes,
) -> Option<Result<ToolName, Invalid>> {
    let path = format!("tool_choice.tools.{n}");
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
    if !matches!(text("type"), CUSTOM | FUNCTION) {
        notes.refused("vendor_tool", path);
        return None;
    }
    Some(tool_name(text("name"), format!("{path}.name")))
}
