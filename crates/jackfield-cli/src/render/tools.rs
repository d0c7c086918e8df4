//! Tools, for people and for programs.

use std::io::{self, Write};

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::text::hidden::revealed;
use jackfield_domain::tool::{CatalogEntry, InputFormat, Permission, Safety};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::render::json::outcome;
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::wrap::cut;
use crate::render::{window, words};

/// Prints a list of tools.
///
/// # Errors
///
/// The stream cannot be written.
pub fn list<'a>(
    out: &mut impl Write,
    tools: impl Iterator<Item = &'a CatalogEntry>,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &tools.map(tool_json).collect());
    }
    let rows: Vec<[String; 4]> = tools
        .map(|tool| {
            let icon = words::icon(tool).unwrap_or_else(|| " ".to_owned());
            let about = tool.title.as_ref().unwrap_or(&tool.definition.description);
            [
                format!("{icon} {}", tool.definition.name),
                permission(&tool.permission).0.to_owned(),
                format!("{}/{}", tool.origin.toolbox, one_line(&tool.origin.tool)),
                words::shortened(about, 60),
            ]
        })
        .collect();
    if rows.is_empty() {
        return writeln!(out, "there are no tools");
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].width())
            .max()
            .unwrap_or(0)
    };
    let (names, policies, mut origins) = (width(0), width(1), width(2));
    let mut abouts = usize::MAX;
    if let Some(columns) = window() {
        let rest = columns.saturating_sub(names + policies + 3 * GAP.len());
        origins = origins.min(rest.saturating_sub(ABOUT).max(ABOUT));
        abouts = rest.saturating_sub(origins);
    }
    for [name, policy, origin, about] in &rows {
        let style = style(policy);
        let (origin, about) = (cut(origin, origins), cut(about, abouts));
        let space = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
        writeln!(
            out,
            "{NAME}{name}{NAME:#}{}{GAP}{style}{policy}{style:#}{}{GAP}{DIM}{origin}{DIM:#}{}{GAP}{about}",
            space(name, names),
            space(policy, policies),
            space(&origin, origins),
        )?;
    }
    out.flush()
}

/// Prints the details of a tool.
///
/// # Errors
///
/// The stream cannot be written.
pub fn show(out: &mut impl Write, tool: &CatalogEntry, as_json: bool) -> io::Result<()> {
    if as_json {
        return document(out, &tool_json(tool));
    }
    let icon = words::icon(tool).unwrap_or_default();
    let title = tool.title.as_deref().unwrap_or_default();
    let heading = format!(
        "{icon} {NAME}{}{NAME:#}  {}",
        tool.definition.name,
        one_line(title)
    );
    writeln!(out, "{}", heading.trim())?;
    let (policy, why) = permission(&tool.permission);
    let style = style(policy);
    let origin = one_line(&tool.origin.tool);
    writeln!(
        out,
        "{}/{origin} · {style}{policy}{style:#} · {}",
        tool.origin.toolbox,
        safety(tool.safety)
    )?;
    if let Some(why) = why {
        writeln!(out, "{}", words::told(why))?;
    }
    if let Some(limit) = tool.time_limit {
        writeln!(out, "at most {} a call", words::time(limit))?;
    }
    writeln!(out, "{DIM}definition {}{DIM:#}", tool.digest.to_hex())?;
    let description = words::told(&tool.definition.description);
    if !description.trim().is_empty() {
        writeln!(out, "\n{description}")?;
    }
    match &tool.definition.input {
        InputFormat::Json(schema) => {
            writeln!(
                out,
                "\n{DIM}Arguments, as JSON Schema:{DIM:#}\n{}",
                words::told(&serde_json::to_string_pretty(schema)?)
            )?;
        }
        InputFormat::Text(_) => writeln!(out, "\n{DIM}It takes free text.{DIM:#}")?,
    }
    if let Some(schema) = &tool.definition.output {
        writeln!(
            out,
            "\n{DIM}Structured results, as JSON Schema:{DIM:#}\n{}",
            words::told(&serde_json::to_string_pretty(schema)?)
        )?;
    }
    out.flush()
}

/// A foreign name that cannot look like several lines or another name.
fn one_line(name: &str) -> String {
    revealed(name).replace('\n', "<U+000A line end>")
}

/// Prints the result of a tool: unchanged, or without the control characters of a terminal.
///
/// # Errors
///
/// The stream cannot be written.
pub fn called(out: &mut impl Write, result: &ToolResult, terminal: bool) -> io::Result<()> {
    let text = result.to_text();
    match &result.structured {
        Some(structured) if text.trim().is_empty() => writeln!(out, "{}", pretty(structured)?)?,
        Some(_) | None if terminal => writeln!(out, "{}", words::told(text.trim_end()))?,
        Some(_) | None => writeln!(out, "{}", text.trim_end())?,
    }
    out.flush()
}

/// Prints the result of a tool as a JSON document, with its files that were saved.
///
/// # Errors
///
/// The stream cannot be written.
pub fn called_json(
    out: &mut impl Write,
    result: &ToolResult,
    saved: Option<Value>,
) -> io::Result<()> {
    let mut value = outcome(result);
    if let Some(saved) = saved {
        value["saved"] = saved;
    }
    document(out, &value)
}

pub(super) fn document(out: &mut impl Write, value: &Value) -> io::Result<()> {
    writeln!(out, "{}", pretty(value)?)?;
    out.flush()
}

fn pretty(value: &Value) -> io::Result<String> {
    Ok(words::escaped(serde_json::to_string_pretty(value)?))
}

fn tool_json(tool: &CatalogEntry) -> Value {
    let (policy, why) = permission(&tool.permission);
    let input = match &tool.definition.input {
        InputFormat::Json(schema) => (**schema).clone(),
        InputFormat::Text(_) => Value::Null,
    };
    json!({
        "name": tool.definition.name.as_str(),
        "title": tool.title.as_deref(),
        "icon": tool.icon.as_deref(),
        "description": &*tool.definition.description,
        "toolbox": tool.origin.toolbox.as_str(),
        "tool": &*tool.origin.tool,
        "policy": policy,
        "policy_reason": why,
        "safety": tool.safety.as_str(),
        "digest": tool.digest.to_hex(),
        "input_schema": input,
        "output_schema": tool.definition.output.as_deref(),
    })
}

fn permission(permission: &Permission) -> (&'static str, Option<&str>) {
    match permission {
        Permission::Allow => ("allow", None),
        Permission::Ask => ("ask", None),
        Permission::Deny(why) => ("deny", Some(why)),
        Permission::Granted { .. } => ("allow", None),
    }
}

fn style(policy: &str) -> anstyle::Style {
    match policy {
        "allow" => GOOD,
        "ask" => WARM,
        _ => BAD,
    }
}

const fn safety(safety: Safety) -> &'static str {
    match safety {
        Safety::Idempotent => "may be repeated",
        Safety::ReadOnly => "changes nothing",
        Safety::Unknown => "may change something each time",
    }
}

/// The space between two columns.
const GAP: &str = "  ";
/// How many columns the description keeps in a narrow window, and the origin.
const ABOUT: usize = 20;
