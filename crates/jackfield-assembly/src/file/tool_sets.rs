//! Reads the sets of tools for MCP clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::tool::ToolOrigin;
use toml::de::DeValue;

use crate::document::Section;
use crate::form::{self, ValueForm};
use crate::place::ConfigProblem;
use crate::serve::ToolSetEntry;
use crate::values::filled;

/// Reads `[serve.mcp]`: a table for each set, with a table for each tool under its name there.
pub(crate) fn read(
    sets: &mut BTreeMap<Arc<str>, BTreeMap<Arc<str>, ToolSetEntry>>,
    section: Section<'_>,
) {
    let names = section.again();
    for entry in section.entries() {
        if ToolboxId::parse(&entry.name).is_err() {
            let message = "the name of a set of tools is made of letters, digits, `-` and `_`";
            names.problem(ConfigProblem::new(entry.place.clone(), message));
        }
        let mut section = Section::of(&names, &entry);
        let mut tools = BTreeMap::new();
        read_tools(&mut tools, section.section("tools"));
        section.finish();
        sets.insert(entry.name, tools);
    }
}

fn read_tools(tools: &mut BTreeMap<Arc<str>, ToolSetEntry>, section: Section<'_>) {
    let names = section.again();
    for entry in section.entries() {
        if ToolName::parse(&entry.name).is_err() {
            let message = "the name of a tool is made of letters, digits, `-` and `_`";
            names.problem(ConfigProblem::new(entry.place.clone(), message));
        }
        let mut section = Section::of(&names, &entry);
        form::keys! { let section;
            description: form::text("Finds an issue of our project."), "What the tool does, instead of its own words";
            tool: form::of(ValueForm::Text("tracker/search_issues"), origin), "The tool: a server, `/` and the tool's own name";
        }
        let mut arguments = serde_json::Map::new();
        let about = "The arguments that every call has; clients do not see them";
        let fixed = section.free("arguments", about);
        let values = fixed.again();
        for argument in fixed.entries() {
            if let Some(value) = values.value(&argument, form::any(), "") {
                arguments.insert(argument.name.to_string(), value);
            }
        }
        section.finish();
        let Some((origin, _)) = tool else {
            let message = "the tool says not which one it is";
            let help = "set `tool` to a server, `/` and the tool's own name";
            names.problem(ConfigProblem::new(entry.place, message).with_help(help));
            continue;
        };
        let tool = ToolSetEntry {
            arguments,
            description: description.map(|(description, _)| description),
            origin,
        };
        tools.insert(entry.name, tool);
    }
}

fn origin(value: &DeValue<'_>) -> Result<ToolOrigin, String> {
    let text = filled(value)?;
    let (toolbox, tool) = text.split_once('/').unwrap_or_default();
    match ToolboxId::parse(toolbox) {
        Ok(toolbox) if !tool.is_empty() => Ok(ToolOrigin {
            tool: tool.into(),
            toolbox,
        }),
        Ok(_) | Err(_) => Err("a server, `/` and the tool's own name are expected".to_owned()),
    }
}
