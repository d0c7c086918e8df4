//! Maps a client's tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::tool_name;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tools::vendor_tool;
use jackfield_domain::ids::ToolName;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use super::Invalid;
use super::settings::extension;
use crate::{DIALECT, wire};

/// Maps the tools. Tools that the vendor runs, or has trained its models on, keep their form for a provider of this
/// dialect, if a turn can carry what becomes of them; otherwise they are refused with a note.
pub(super) fn from_wire(
    tools: Vec<wire::Tool>,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<Vec<Arc<ToolDefinition>>, Invalid> {
    let mut definitions = Vec::with_capacity(tools.len());
    for (n, tool) in tools.iter().enumerate() {
        if let Some(kind) = tool.kind.as_deref().filter(|kind| *kind != "custom") {
            let name = ToolName::parse(tool.name.as_deref().unwrap_or_default());
            if let (Ok(name), false) = (name, owner.endpoint.is_empty())
                && !is_set_of_tools(kind)
            {
                let json = serde_json::to_value(tool).unwrap_or_default();
                definitions.push(Arc::new(vendor_tool(DIALECT, name, json)));
                continue;
            }
            notes.refused("vendor_tool", format_args!("tools.{n}"));
            continue;
        }
        definitions.push(Arc::new(definition(tool, n)?));
        for (key, json) in &tool.extra {
            if acts(key, json) {
                notes.refused("provider_would_act", format_args!("tools.{n}.{key}"));
            }
        }
    }
    Ok(definitions)
}

/// Whether a type of tool stands for several, which are called by names that the request does not have.
pub(crate) fn is_set_of_tools(kind: &str) -> bool {
    kind.contains("toolset")
}

/// The definition of the `n`th tool of a request.
fn definition(tool: &wire::Tool, n: usize) -> Result<ToolDefinition, Invalid> {
    let name = tool.name.as_deref().unwrap_or_default();
    let name = tool_name(name, format!("tools.{n}.name"))?;
    let Some(schema) = &tool.input_schema else {
        let path = format!("tools.{n}.input_schema");
        return Err(Invalid::new(path, "a tool needs a schema of its arguments"));
    };
    if !schema.is_object() {
        let path = format!("tools.{n}.input_schema");
        return Err(Invalid::new(path, "a schema is an object"));
    }
    let kept = tool.extra.iter().filter(|(key, json)| !acts(key, json));
    Ok(ToolDefinition {
        description: tool.description.as_deref().unwrap_or_default().into(),
        extensions: kept
            .map(|(key, json)| extension("", key, json.clone()))
            .collect(),
        input: InputFormat::Json(Arc::new(schema.clone())),
        name,
        output: None,
        strict: tool.strict,
    })
}

/// Whether a field lets the provider's code call the tool.
fn acts(key: &str, json: &Value) -> bool {
    key == "allowed_callers" && *json != json!(["direct"])
}

/// Maps the choice, and whether parallel calls are permitted.
pub(super) fn choice(
    choice: Option<wire::ToolChoice>,
) -> Result<(ToolChoice, Option<bool>), Invalid> {
    let (choice, one) = match choice {
        None => (ToolChoice::Auto, None),
        Some(wire::ToolChoice::Any {
            disable_parallel_tool_use,
        }) => (ToolChoice::Required, disable_parallel_tool_use),
        Some(wire::ToolChoice::Auto {
            disable_parallel_tool_use,
        }) => (ToolChoice::Auto, disable_parallel_tool_use),
        Some(wire::ToolChoice::None) => (ToolChoice::Forbidden, None),
        Some(wire::ToolChoice::Tool {
            name: wanted,
            disable_parallel_tool_use,
        }) => {
            let name = tool_name(&wanted, "tool_choice.name")?;
            (ToolChoice::Named(name), disable_parallel_tool_use)
        }
    };
    Ok((choice, one.map(|one| !one)))
}
