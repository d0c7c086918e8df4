//! The tools of a client, and its choice among them.

use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::ids::ToolName;
use jackfield_domain::tool::{Grammar, InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::Invalid;
use super::settings::extension;
use crate::responses::request::extensions::acts_in_tool;
use crate::responses::request::tools::{CUSTOM, FUNCTION};
use crate::responses::wire;

/// Maps the tools. Those that the vendor runs, or finds, are refused with a note.
pub(super) fn from_wire(
    tools: Vec<wire::Tool>,
    notes: &mut Notes,
) -> Result<Vec<Arc<ToolDefinition>>, Invalid> {
    let mut definitions = Vec::with_capacity(tools.len());
    for (n, tool) in tools.into_iter().enumerate() {
        let input = match tool.kind.as_str() {
            CUSTOM => InputFormat::Text(match tool.format {
                Some(wire::ToolFormat::Grammar { definition, syntax }) => Some(Grammar {
                    definition: definition.into(),
                    syntax: syntax.into(),
                }),
                Some(wire::ToolFormat::Text {}) | None => None,
            }),
            "" | FUNCTION => {
                let schema = tool.parameters;
                let nothing = || Arc::new(json!({ "type": "object", "properties": {} }));
                InputFormat::Json(schema.unwrap_or_else(nothing))
            }
            _ => {
                notes.refused("vendor_tool", format_args!("tools.{n}"));
                continue;
            }
        };
        let name = name(
            tool.name.as_deref().unwrap_or_default(),
            &format!("tools.{n}.name"),
        )?;
        let mut extensions = Vec::new();
        for (key, json) in tool.extra {
            if acts_in_tool(&key, &json) {
                notes.refused("provider_would_act", format_args!("tools.{n}.{key}"));
            } else {
                extensions.push(extension("", &key, json));
            }
        }
        definitions.push(Arc::new(ToolDefinition {
            description: tool.description.unwrap_or_default().into(),
            extensions,
            input,
            name,
            output: None,
            strict: tool.strict.flatten(),
        }));
    }
    Ok(definitions)
}

/// Maps the choice; that of a tool of the vendor's own is refused with a note.
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
                ToolChoice::Named(name(&wanted, "tool_choice.name")?)
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
    Some(name(text("name"), &format!("{path}.name")))
}

fn name(text: &str, path: &str) -> Result<ToolName, Invalid> {
    ToolName::parse(text).map_err(|invalid| Invalid::new(path, invalid.to_string()))
}
