//! Maps a client's tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::tool_name;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::ids::ToolName;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::tool::{Grammar, InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::Invalid;
use super::settings::extension;
use crate::chat::wire;

/// Maps the tools, which some clients still send as functions. Server-specific tools are refused with a note.
pub(super) fn from_wire(
    body: &mut wire::Request,
    notes: &mut Notes,
) -> Result<Vec<Arc<ToolDefinition>>, Invalid> {
    let tools = body.tools.take().unwrap_or_default();
    let functions = body.functions.take().unwrap_or_default();
    let mut definitions = Vec::with_capacity(tools.len() + functions.len());
    for (n, tool) in tools.iter().enumerate() {
        let path = format!("tools.{n}");
        match tool {
            wire::Tool::Custom { custom } => {
                definitions.push(Arc::new(custom_tool(custom, &format!("{path}.custom"))?));
            }
            wire::Tool::Function {
                function: told,
                extra,
            } => {
                definitions.push(Arc::new(function(told, &format!("{path}.function"))?));
                for key in extra.keys() {
                    let path = format_args!("{path}.{key}");
                    notes.dropped(NoteEffect::Quality, "tool_field_not_kept", path);
                }
            }
            wire::Tool::Other(fields) => match fields.get("type").and_then(Value::as_str) {
                None | Some("custom" | "function") => {
                    return Err(Invalid::new(path, "this is no well-formed tool"));
                }
                Some(_) => notes.refused("vendor_tool", path),
            },
        }
    }
    for (n, told) in functions.into_iter().enumerate() {
        definitions.push(Arc::new(function(&told, &format!("functions.{n}"))?));
    }
    Ok(definitions)
}

fn function(function: &wire::Function, path: &str) -> Result<ToolDefinition, Invalid> {
    let none = || Arc::new(json!({ "type": "object", "properties": {} }));
    let schema = function.parameters.clone();
    let schema = schema.filter(|schema| !schema.is_null());
    if schema.as_ref().is_some_and(|schema| !schema.is_object()) {
        let path = format!("{path}.parameters");
        return Err(Invalid::new(path, "a schema is an object"));
    }
    Ok(ToolDefinition {
        description: function.description.as_deref().unwrap_or_default().into(),
        extensions: extensions(&function.extra),
        input: InputFormat::Json(schema.unwrap_or_else(none)),
        name: tool_name(&function.name, format!("{path}.name"))?,
        output: None,
        strict: function.strict,
    })
}

fn custom_tool(custom: &wire::CustomTool, path: &str) -> Result<ToolDefinition, Invalid> {
    let grammar = match &custom.format {
        None | Some(wire::TextFormat::Text {}) => None,
        Some(wire::TextFormat::Grammar { grammar }) => Some(Grammar {
            definition: grammar.definition.as_str().into(),
            syntax: grammar.syntax.as_str().into(),
        }),
    };
    Ok(ToolDefinition {
        description: custom.description.as_deref().unwrap_or_default().into(),
        extensions: extensions(&custom.extra),
        input: InputFormat::Text(grammar),
        name: tool_name(&custom.name, format!("{path}.name"))?,
        output: None,
        strict: None,
    })
}

fn extensions(extra: &Map<String, Value>) -> Vec<jackfield_domain::opaque::Extension> {
    let extra = extra.iter();
    extra
        .map(|(key, json)| extension("", key, json.clone()))
        .collect()
}

pub(super) fn choice(choice: Option<wire::ToolChoice>) -> Result<ToolChoice, Invalid> {
    let path = "tool_choice";
    Ok(match choice {
        None => ToolChoice::Auto,
        Some(wire::ToolChoice::Mode(word)) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::Forbidden,
            "any" | "required" => ToolChoice::Required,
            other => {
                let reason = format!("`{other}` is no choice");
                return Err(Invalid::new(path, reason));
            }
        },
        Some(wire::ToolChoice::AllowedTools { allowed_tools, .. }) => {
            let tools = allowed_tools.tools.into_iter().map(one);
            ToolChoice::Only {
                required: allowed_tools.mode == "required",
                tools: tools.collect::<Result<_, _>>()?,
            }
        }
        Some(one_tool) => ToolChoice::Named(one(one_tool)?),
    })
}

fn one(choice: wire::ToolChoice) -> Result<ToolName, Invalid> {
    let path = "tool_choice";
    match choice {
        wire::ToolChoice::Custom { custom: tool, .. }
        | wire::ToolChoice::Function { function: tool, .. }
        | wire::ToolChoice::Named(tool) => tool_name(&tool.name, "tool_choice.name"),
        wire::ToolChoice::AllowedTools { .. } | wire::ToolChoice::Mode(_) => {
            Err(Invalid::new(path, "a tool is named here"))
        }
    }
}
