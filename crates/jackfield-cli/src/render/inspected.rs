//! All that an MCP server has, for people and for programs.

use std::io::{self, Write};

use jackfield_assembly::{ServerInspection, ServerStatus, ServerToolbox};
use serde_json::{Map, Value, json};

use crate::render::plain::{DIM, NAME, WARM};
use crate::render::servers;
use crate::render::tools::document;
use crate::render::words;

/// Prints what a server has.
///
/// # Errors
///
/// The stream cannot be written.
pub fn inspected(
    out: &mut impl Write,
    server: &ServerToolbox,
    inspection: &ServerInspection,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &inspection_json(server, inspection));
    }
    servers::tested(out, &[(server.clone(), inspection.test.clone())], false)?;
    let Some(details) = &inspection.details else {
        return out.flush();
    };
    writeln!(out)?;
    let mut row =
        |name: &str, value: &str| writeln!(out, "{DIM}{name:13}{DIM:#} {}", words::one_line(value));
    row("transport", &transport(server))?;
    if let ServerStatus::Ready {
        protocol,
        stateless,
        ..
    } = &inspection.test.state
    {
        let era = if *stateless {
            "stateless"
        } else {
            "with a handshake"
        };
        row("protocol", &format!("MCP {protocol}, {era}"))?;
    }
    let info = details.info.as_ref();
    let said = |field: &str| {
        let text = info
            .and_then(|info| info.get(field))
            .and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    };
    let named = ["title", "name", "version", "websiteUrl"];
    let named: Vec<&str> = named.into_iter().filter_map(said).collect();
    row("server", &named.join(" · "))?;
    row("capabilities", &capabilities(&details.capabilities))?;
    if let Some(text) = &details.instructions {
        writeln!(out, "{DIM}instructions{DIM:#}")?;
        for line in words::told(text.trim()).lines() {
            writeln!(out, "  {line}")?;
        }
    }
    heading(out, "Tools", inspection.definitions.len())?;
    for tool in &inspection.definitions {
        let name = text(tool, "name");
        let arguments = arguments(tool.get("inputSchema"));
        item(out, &format!("{name}({arguments})"), &hints(tool))?;
        about(out, tool)?;
    }
    heading(out, "Resources", inspection.resources.resources.len())?;
    for resource in &inspection.resources.resources {
        let size = resource.size.map(|size| format!("{size} bytes"));
        let media_type = resource.media_type.as_deref().map(str::to_owned);
        let more: Vec<String> = media_type.into_iter().chain(size).collect();
        item(out, &resource.uri, &more.join(" · "))?;
        about(out, &resource.original)?;
    }
    heading(
        out,
        "Resource templates",
        inspection.resources.templates.len(),
    )?;
    for template in &inspection.resources.templates {
        let media_type = template.media_type.as_deref().unwrap_or_default();
        item(out, &template.uri_template, media_type)?;
        about(out, &template.original)?;
    }
    heading(out, "Prompts", inspection.prompts.len())?;
    for prompt in &inspection.prompts {
        let arguments = prompt.arguments.iter().map(|argument| {
            let end = if argument.required { "" } else { "?" };
            format!("{}{end}", argument.name)
        });
        let arguments: Vec<String> = arguments.collect();
        item(
            out,
            &format!("{}({})", prompt.name, arguments.join(", ")),
            "",
        )?;
        about(out, &prompt.original)?;
    }
    if !inspection.mended.is_empty() {
        writeln!(out, "\n{NAME}Mended{NAME:#}")?;
        for one in &inspection.mended {
            writeln!(out, "  {WARM}!{WARM:#} {}", words::one_line(one))?;
        }
    }
    out.flush()
}

fn heading(out: &mut impl Write, what: &str, count: usize) -> io::Result<()> {
    if count > 0 {
        writeln!(out, "\n{NAME}{what}{NAME:#} {DIM}({count}){DIM:#}")?;
    }
    Ok(())
}

fn item(out: &mut impl Write, name: &str, more: &str) -> io::Result<()> {
    let gap = if more.is_empty() { "" } else { "  " };
    let (name, more) = (words::shortened(name, 300), words::one_line(more));
    writeln!(out, "  {}{gap}{DIM}{more}{DIM:#}", words::one_line(&name))
}

/// The title and description of a definition, in one line.
fn about(out: &mut impl Write, definition: &Value) -> io::Result<()> {
    let parts = [text(definition, "title"), text(definition, "description")];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let line = words::shortened(&parts.join(": "), 200);
    writeln!(out, "    {}", words::one_line(&line))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn transport(server: &ServerToolbox) -> String {
    let config = &server.config;
    match config.shown_url() {
        Some(url) => format!("Streamable HTTP: {url}"),
        None => {
            let command = std::iter::once(&config.command).chain(&config.arguments);
            let command: Vec<&str> = command.map(|part| &**part).collect();
            format!("standard input and output: {}", command.join(" "))
        }
    }
}

/// The names of the capabilities, each with what it announces.
fn capabilities(capabilities: &Value) -> String {
    let all = capabilities.as_object().into_iter().flatten();
    let named = all.map(|(name, value)| {
        let fields = value.as_object().into_iter().flatten();
        let on = fields.filter(|(_, value)| **value != Value::Bool(false));
        let on: Vec<&str> = on.map(|(name, _)| name.as_str()).collect();
        if on.is_empty() {
            name.clone()
        } else {
            format!("{name} ({})", on.join(", "))
        }
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        "none".to_owned()
    } else {
        named.join(", ")
    }
}

/// The arguments in a schema of an object, such as `city: string, days?: integer`.
fn arguments(schema: Option<&Value>) -> String {
    let properties = schema.and_then(|schema| schema.get("properties"));
    let required = schema.and_then(|schema| schema.get("required"));
    let required = required.and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let properties = properties.and_then(Value::as_object).into_iter().flatten();
    let named = properties.map(|(name, schema)| {
        let end = if is_required(name) { "" } else { "?" };
        format!("{name}{end}: {}", kind(schema))
    });
    named.collect::<Vec<_>>().join(", ")
}

/// The type of a value in a word, or its values if there are few.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && values.len() <= MAX_VALUES
    {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return values.join("|");
    }
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "array" => {
            let items = schema
                .get("items")
                .map_or_else(|| "any".to_owned(), kind_of_items);
            format!("{items}[]")
        }
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join("|")
        }
        Some(_) | None => "any".to_owned(),
    }
}

fn kind_of_items(items: &Value) -> String {
    let kind = items.get("type").and_then(Value::as_str);
    kind.unwrap_or("any").to_owned()
}

/// The hints that a tool has; one that it lacks is unknown.
fn hints(tool: &Value) -> String {
    let annotations = tool.get("annotations");
    let hint = |name: &str| {
        annotations
            .and_then(|all| all.get(name))
            .and_then(Value::as_bool)
    };
    let said = HINTS
        .iter()
        .filter_map(|(name, yes, no)| match hint(name)? {
            true => Some(*yes),
            false => Some(*no),
        });
    said.collect::<Vec<_>>().join(" · ")
}

fn inspection_json(server: &ServerToolbox, inspection: &ServerInspection) -> Value {
    let test = (server.clone(), inspection.test.clone());
    let mut described = servers::server_json(&test);
    let details = inspection.details.as_ref();
    let resources = &inspection.resources;
    let mut more = Map::new();
    let transport = if server.config.url.is_some() {
        "http"
    } else {
        "stdio"
    };
    more.insert("transport".to_owned(), json!(transport));
    more.insert(
        "server_info".to_owned(),
        json!(details.and_then(|details| details.info.clone())),
    );
    more.insert(
        "capabilities".to_owned(),
        json!(details.map(|details| details.capabilities.clone())),
    );
    more.insert(
        "instructions".to_owned(),
        json!(details.and_then(|details| details.instructions.clone())),
    );
    more.insert("tool_definitions".to_owned(), json!(inspection.definitions));
    let originals = resources.resources.iter().map(|one| &*one.original);
    more.insert("resources".to_owned(), originals.cloned().collect());
    let originals = resources.templates.iter().map(|one| &*one.original);
    more.insert(
        "resource_templates".to_owned(),
        originals.cloned().collect(),
    );
    let originals = inspection.prompts.iter().map(|one| &*one.original);
    more.insert("prompts".to_owned(), originals.cloned().collect());
    more.insert("mended".to_owned(), json!(inspection.mended));
    if let Some(fields) = described.as_object_mut() {
        fields.extend(more);
    }
    described
}

/// The hints of a tool (MCP 2026-07-28, "Tool annotations"), in words for yes and no.
const HINTS: &[(&str, &str, &str)] = &[
    ("readOnlyHint", "changes nothing", "may change something"),
    ("destructiveHint", "may destroy", "destroys nothing"),
    ("idempotentHint", "may be repeated", "not to be repeated"),
    (
        "openWorldHint",
        "reaches other systems",
        "reaches nothing else",
    ),
];
/// The maximum number of values that are listed.
const MAX_VALUES: usize = 8;
