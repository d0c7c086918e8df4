//! Maps a client's tools and tool choice.

use std::collections::HashSet;
use std::sync::Arc;

use jackfield_dialect_kit::incoming::tool_name;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::tools::{vendor_form, vendor_tool};
use jackfield_domain::ids::ToolName;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::tool::{Grammar, InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::Invalid;
use super::settings::extension;
use crate::responses::request::extensions::acts_in_tool;
use crate::responses::request::tools::{CUSTOM, FUNCTION};
use crate::responses::{DIALECT, wire};

/// Maps the tools. Tools that the vendor runs keep their form for a provider of this dialect, if a turn can carry
/// what becomes of them; otherwise they are refused with a note.
pub(super) fn from_wire(
    tools: Vec<wire::Tool>,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<Vec<Arc<ToolDefinition>>, Invalid> {
    let mut definitions = Vec::with_capacity(tools.len());
    let names = tools.iter().filter_map(|tool| tool.name.clone());
    let mut names: HashSet<String> = names.collect();
    for (n, tool) in tools.iter().enumerate() {
        if !matches!(tool.kind.as_str(), "" | CUSTOM | FUNCTION) {
            let is_own = is_carried(&tool.kind) && !owner.endpoint.is_empty();
            match own_name(&tool.kind, &mut names).filter(|_| is_own) {
                Some(name) => {
                    let json = serde_json::to_value(tool).unwrap_or_default();
                    definitions.push(Arc::new(vendor_tool(DIALECT, name, json)));
                }
                None => notes.refused("vendor_tool", format_args!("tools.{n}")),
            }
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

/// Whether a turn carries what becomes of a vendor's tool of this type: its calls are items that nothing here has to
/// answer, and its definition has no credentials, which a journal would keep.
pub(crate) fn is_carried(kind: &str) -> bool {
    !UNCARRIED.contains(&kind)
}

/// A name for a vendor's tool of this type, which has none of its own.
fn own_name(kind: &str, names: &mut HashSet<String>) -> Option<ToolName> {
    let mut others = (2..).map(|n: u32| format!("{kind}_{n}"));
    let mut name = kind.to_owned();
    while !names.insert(name.clone()) {
        name = others.next()?;
    }
    ToolName::parse(&name).ok()
}

/// The vendor's tools whose calls the client or its servers answer, and those with credentials (Responses API,
/// 2026-11).
const UNCARRIED: [&str; 9] = [
    "apply_patch",
    "computer",
    "computer_use",
    "computer_use_preview",
    "local_shell",
    "mcp",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
];

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

/// Maps the choice; that of a vendor's tool which is not among these is refused with a note.
pub(super) fn choice(
    choice: Option<wire::ToolChoice>,
    tools: &[Arc<ToolDefinition>],
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
            wire::Chosen::AllowedTools {
                mode,
                tools: allowed,
            } => {
                let names: Result<Vec<ToolName>, Invalid> = allowed
                    .iter()
                    .enumerate()
                    .filter_map(|(n, tool)| reference(n, tool, tools, notes))
                    .collect();
                ToolChoice::Only {
                    required: mode == "required",
                    tools: names?,
                }
            }
            wire::Chosen::Custom { name: wanted } | wire::Chosen::Function { name: wanted } => {
                ToolChoice::Named(tool_name(&wanted, "tool_choice.name")?)
            }
            wire::Chosen::Other(chosen) => match own(&chosen, tools) {
                Some(name) => ToolChoice::Named(name),
                None => {
                    notes.refused("vendor_tool", path);
                    ToolChoice::Auto
                }
            },
        },
    })
}

/// The name of the first of these tools that is a vendor's of the chosen type.
fn own(chosen: &Map<String, Value>, tools: &[Arc<ToolDefinition>]) -> Option<ToolName> {
    let kind = chosen.get("type")?;
    let mut tools = tools.iter();
    let own = tools
        .find(|tool| vendor_form(tool).is_some_and(|form| form.json.get("type") == Some(kind)));
    own.map(|tool| tool.name.clone())
}

fn reference(
    n: usize,
    tool: &Map<String, Value>,
    tools: &[Arc<ToolDefinition>],
    notes: &mut Notes,
) -> Option<Result<ToolName, Invalid>> {
    let path = format!("tool_choice.tools.{n}");
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
    if !matches!(text("type"), CUSTOM | FUNCTION) {
        let own = own(tool, tools);
        if own.is_none() {
            notes.refused("vendor_tool", path);
        }
        return own.map(Ok);
    }
    Some(tool_name(text("name"), format!("{path}.name")))
}
