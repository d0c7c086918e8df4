//! Rules for tools and the tool choice: nested on Chat Completions, flat on Responses.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    fields, has, items, join, known, missing, name, need_text, not_empty, not_supported, one_of,
    schema, text, wrong_type,
};
use crate::checks::CheckFindings;

/// The form of a tool in each dialect.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::openai) enum Shape {
    /// `{"type": "function", "name": …}`: Responses.
    Flat,
    /// `{"type": "function", "function": {"name": …}}`: Chat Completions.
    Nested,
}

impl Shape {
    /// The object with the properties of a tool.
    fn inside<'a>(self, tool: &'a Value, kind: &str) -> (&'a Value, bool) {
        match self {
            Self::Flat => (tool, true),
            Self::Nested => match tool.get(kind) {
                Some(inner) => (inner, true),
                None => (&Value::Null, false),
            },
        }
    }

    const fn longest_name(self) -> usize {
        match self {
            Self::Flat => 128,
            Self::Nested => 64,
        }
    }
}

/// Checks the tools and the fields about them.
pub(in crate::openai) fn check(body: &Value, shape: Shape, found: &mut CheckFindings) {
    let tools = match body.get("tools") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(tools)) => {
            if shape == Shape::Nested {
                not_empty("tools", tools, found);
            }
            tools
        }
        Some(other) => {
            wrong_type("tools", "an array of objects", other, found);
            return;
        }
    };
    if tools.len() > MAX_TOOLS {
        let fault = format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, but got an array with length {} instead.",
            tools.len()
        );
        found.coded("tools", "array_above_max_length", &fault);
    }
    let mut names = HashSet::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("tools[{n}]");
        if let Some(name) = tool_of(&at, tool, shape, found)
            && !names.insert(name)
        {
            found.add(&at, &format!("tool names must be unique: '{name}'"));
        }
    }
    choice(body, shape, &names, tools.is_empty(), found);
}

/// Checks one tool; returns its name.
fn tool_of<'a>(
    at: &str,
    tool: &'a Value,
    shape: Shape,
    found: &mut CheckFindings,
) -> Option<&'a str> {
    let kind = need_text(at, tool, "type", found)?;
    if kind != "function" && kind != "custom" {
        if shape == Shape::Nested || !HOSTED.contains(&kind) {
            not_supported(&join(at, "type"), kind, &["function", "custom"], found);
        }
        return None;
    }
    let (inner, is_there) = shape.inside(tool, kind);
    if !is_there {
        missing(&join(at, kind), found);
        return None;
    }
    let at = match shape {
        Shape::Flat => at.to_owned(),
        Shape::Nested => {
            known(at, tool, &["type", kind], found);
            join(at, kind)
        }
    };
    known(&at, inner, known_fields(shape, kind), found);
    if let Some(description) = inner.get("description")
        && !description.is_string()
        && !description.is_null()
    {
        wrong_type(&join(&at, "description"), "a string", description, found);
    }
    let called = need_text(&at, inner, "name", found)?;
    name(&join(&at, "name"), called, shape.longest_name(), found);
    if kind == "function" {
        let strict = inner.get("strict") == Some(&Value::Bool(true));
        let at = join(&at, "parameters");
        match inner.get("parameters") {
            None | Some(Value::Null) => {}
            Some(parameters) => {
                schema::check(&at, "function", called, parameters, strict, found);
            }
        }
    } else if let Some(format) = inner.get("format").filter(|format| !format.is_null()) {
        format_of(&join(&at, "format"), format, shape, found);
    }
    Some(called)
}

/// Checks the format of a text tool.
fn format_of(at: &str, format: &Value, shape: Shape, found: &mut CheckFindings) {
    one_of(at, format, "type", &["grammar", "text"], found);
    if text(format, "type") == "grammar" {
        let (grammar, is_there) = shape.inside(format, "grammar");
        if !is_there {
            missing(&join(at, "grammar"), found);
            return;
        }
        need_text(at, grammar, "definition", found);
        need_text(at, grammar, "syntax", found);
        one_of(at, grammar, "syntax", &["lark", "regex"], found);
    }
}

fn choice(
    body: &Value,
    shape: Shape,
    names: &HashSet<&str>,
    none: bool,
    found: &mut CheckFindings,
) {
    if shape == Shape::Nested && none {
        for name in ["tool_choice", "parallel_tool_calls"] {
            if has(body, name) {
                let fault = format!(
                    "Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
                );
                found.add(name, &fault);
            }
        }
        return;
    }
    let choice = match body.get("tool_choice") {
        None | Some(Value::Null) => return,
        Some(Value::String(word)) => {
            if !["auto", "none", "required"].contains(&word.as_str()) {
                not_supported("tool_choice", word, &["none", "auto", "required"], found);
            } else if word == "required" && none {
                let fault = "Tool choice 'required' must be specified with 'tools' parameter.";
                found.add("tool_choice", fault);
            }
            return;
        }
        Some(choice) => choice,
    };
    match text(choice, "type") {
        "allowed_tools" => {
            let (inner, _) = shape.inside(choice, "allowed_tools");
            one_of("tool_choice", inner, "mode", &["auto", "required"], found);
            if !has(inner, "mode") {
                missing("tool_choice.mode", found);
            }
            let allowed = items(inner.get("tools"));
            not_empty("tool_choice.tools", allowed, found);
            for (n, tool) in allowed.iter().enumerate() {
                named(
                    &format!("tool_choice.tools[{n}]"),
                    tool,
                    shape,
                    names,
                    found,
                );
            }
        }
        "function" | "custom" => named("tool_choice", choice, shape, names, found),
        kind if shape == Shape::Flat && HOSTED.contains(&kind) => {}
        kind => {
            let known = &["function", "custom", "allowed_tools"];
            not_supported("tool_choice.type", kind, known, found);
        }
    }
}

/// Checks that a named tool exists.
fn named(at: &str, choice: &Value, shape: Shape, names: &HashSet<&str>, found: &mut CheckFindings) {
    let kind = text(choice, "type");
    let (inner, _) = shape.inside(choice, kind);
    let wanted: &[&str] = match shape {
        Shape::Flat => &["type", "name"],
        Shape::Nested => &["type", "function", "custom"],
    };
    known(at, choice, wanted, found);
    match fields(inner).get("name").and_then(Value::as_str) {
        None => missing(&join(at, "name"), found),
        Some(name) if names.contains(name) => {}
        Some(name) => {
            let fault = format!("Tool choice '{name}' not found in 'tools' parameter.");
            found.add(at, &fault);
        }
    }
}

fn known_fields(shape: Shape, kind: &str) -> &'static [&'static str] {
    match (shape, kind) {
        (Shape::Nested, "function") => &["description", "name", "parameters", "strict"],
        (Shape::Nested, _) => &["description", "format", "name"],
        (Shape::Flat, "function") => &[
            "allowed_callers",
            "async",
            "defer_loading",
            "description",
            "name",
            "output_schema",
            "parameters",
            "strict",
            "type",
        ],
        (Shape::Flat, _) => &[
            "allowed_callers",
            "async",
            "defer_loading",
            "description",
            "format",
            "name",
            "type",
        ],
    }
}

const MAX_TOOLS: usize = 128;
/// The tools that the vendor runs itself, and those that contain others.
const HOSTED: &[&str] = &[
    "apply_patch",
    "code_interpreter",
    "computer",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "namespace",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
];
