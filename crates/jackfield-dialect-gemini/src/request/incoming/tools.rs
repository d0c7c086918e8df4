//! Maps a client's tools and tool choice.

use std::sync::Arc;

use jackfield_dialect_kit::incoming::tool_name;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};

use super::Invalid;
use super::settings::{camel_case, extension};
use crate::request::HOSTED;
use crate::request::tools::without_arguments;
use crate::schema::to_json_schema;
use crate::wire;

/// Maps the functions, and the tools that the vendor runs: those become extensions, which a provider of this dialect
/// gets, or are refused with a note.
pub(super) fn from_wire(
    tools: Vec<wire::Tool>,
    notes: &mut Notes,
) -> Result<(Vec<Arc<ToolDefinition>>, Vec<Extension>), Invalid> {
    let (mut definitions, mut hosted) = (Vec::new(), Vec::new());
    for (n, tool) in tools.into_iter().enumerate() {
        let declarations = tool.function_declarations.into_iter().flatten();
        for (k, declaration) in declarations.enumerate() {
            let path = format!("tools.{n}.functionDeclarations.{k}");
            definitions.push(Arc::new(definition(declaration, &path)?));
        }
        for (key, json) in tool.extra {
            let name = camel_case(&key);
            if HOSTED.contains(&name.as_str()) {
                hosted.push(extension("/tools", &name, json));
            } else {
                notes.refused("vendor_tool", format_args!("tools.{n}.{name}"));
            }
        }
    }
    Ok((definitions, hosted))
}

fn definition(
    declaration: wire::FunctionDeclaration,
    path: &str,
) -> Result<ToolDefinition, Invalid> {
    let schema = match (declaration.parameters_json_schema, declaration.parameters) {
        (Some(schema), _) => schema,
        (None, Some(schema)) => to_json_schema(&schema),
        (None, None) => without_arguments(),
    };
    if !schema.is_object() {
        let path = format!("{path}.parameters");
        return Err(Invalid::new(path, "a schema is an object"));
    }
    let more = declaration.extra.into_iter();
    Ok(ToolDefinition {
        description: declaration.description.unwrap_or_default().into(),
        extensions: more
            .map(|(key, json)| extension("", &camel_case(&key), json))
            .collect(),
        input: InputFormat::Json(Arc::new(schema)),
        name: tool_name(&declaration.name, format!("{path}.name"))?,
        output: None,
        strict: None,
    })
}

/// Maps the choice, and the fields beside it.
pub(super) fn choice(
    config: Option<wire::ToolConfig>,
    notes: &mut Notes,
) -> Result<(ToolChoice, Vec<Extension>), Invalid> {
    let config = config.unwrap_or_default();
    let more = config.extra.into_iter();
    let more: Vec<Extension> = more
        .map(|(key, json)| extension("/toolConfig", &camel_case(&key), json))
        .collect();
    let calling = config.function_calling_config.unwrap_or_default();
    let path = "toolConfig.functionCallingConfig";
    let mut names = Vec::new();
    for (n, name) in calling
        .allowed_function_names
        .into_iter()
        .flatten()
        .enumerate()
    {
        let path = format!("{path}.allowedFunctionNames.{n}");
        names.push(tool_name(&name, path)?);
    }
    let mode = calling.mode.unwrap_or_default().to_ascii_uppercase();
    let required = mode == "ANY";
    let choice = match (mode.as_str(), names.len()) {
        ("" | "AUTO" | "MODE_UNSPECIFIED", 0) => ToolChoice::Auto,
        ("VALIDATED", 0) => {
            let path = format_args!("{path}.mode");
            notes.approximated(NoteEffect::Quality, "calls_not_validated", path);
            ToolChoice::Auto
        }
        ("ANY", 0) => ToolChoice::Required,
        ("ANY", 1) => names.pop().map_or(ToolChoice::Required, ToolChoice::Named),
        ("ANY" | "VALIDATED", _) => ToolChoice::Only {
            required,
            tools: names,
        },
        ("NONE", _) => ToolChoice::Forbidden,
        ("" | "AUTO" | "MODE_UNSPECIFIED", _) => {
            let path = format!("{path}.allowedFunctionNames");
            let reason = "names need the mode ANY or VALIDATED";
            return Err(Invalid::new(path, reason));
        }
        (_, _) => {
            let path = format!("{path}.mode");
            let reason = "a mode is AUTO, ANY, NONE or VALIDATED";
            return Err(Invalid::new(path, reason));
        }
    };
    Ok((choice, more))
}
