//! Rules for tools and the tool choice.

use std::collections::HashSet;

use jackfield_dialect_openai::profile::ToolChoiceForms;
use serde_json::{Map, Value};

use crate::openai::form::{Field, Is, may, need};
use crate::openai::tools::GRAMMAR;
use crate::openai::{Found, Rule};
use crate::place::{Place, said, text_of};

/// The types of tools that the provider runs or searches.
const HOSTED: &[&str] = &[
    "apply_patch",
    "code_interpreter",
    "computer",
    "computer_use",
    "computer_use_preview",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
];

/// A function; the SDK's types require `parameters` and `strict`, possibly null, and `strict` only if the server
/// supports it.
const FUNCTION: [Field; 9] = [
    may("allowed_callers", Is::OrNull(&Is::List)),
    may("async", Is::Bool),
    may("defer_loading", Is::Bool),
    may("description", Is::OrNull(&Is::Text)),
    need("name", Is::Name(128)),
    may("output_schema", Is::OrNull(&Is::Object)),
    need("parameters", Is::OrNull(&Is::Object)),
    may("strict", Is::OrNull(&Is::Bool)),
    need("type", Is::Text),
];
const CUSTOM: [Field; 7] = [
    may("allowed_callers", Is::OrNull(&Is::List)),
    may("async", Is::Bool),
    may("defer_loading", Is::Bool),
    may("description", Is::Text),
    may("format", Is::Object),
    need("name", Is::Name(128)),
    need("type", Is::Text),
];
const NAMESPACE: [Field; 4] = [
    need("description", Is::Text),
    need("name", Is::Name(128)),
    need("tools", Is::List),
    need("type", Is::Text),
];
const TYPED: [Field; 1] = [need("type", Is::Text)];
const NAMED: [Field; 2] = [need("name", Is::Text), need("type", Is::Text)];
const MCP_CHOICE: [Field; 3] = [
    may("name", Is::OrNull(&Is::Text)),
    need("server_label", Is::Text),
    need("type", Is::Text),
];
const ALLOWED: [Field; 3] = [
    need("mode", Is::OneOf(&["auto", "required"])),
    need("tools", Is::List),
    need("type", Is::Text),
];

pub(super) fn check(found: &mut Found<'_>, body: &Map<String, Value>, root: &Place) {
    let place = root.at("tools");
    let tools = said(body, "tools").and_then(Value::as_array);
    let tools = tools.map(Vec::as_slice).unwrap_or_default();
    for (n, each) in tools.iter().enumerate() {
        tool(found, each, &place.at(n));
    }
    let mut names = found.tool_names(tools, name, &place);
    let hosted = tools.iter().map(|tool| text_of(tool, "type"));
    names.extend(hosted.filter(|kind| HOSTED.contains(kind)));
    if let Some(chosen) = said(body, "tool_choice") {
        choice(found, chosen, &names, &root.at("tool_choice"));
    }
}

/// The name of a tool, or its type if it has none.
fn name(tool: &Value) -> &str {
    match text_of(tool, "type") {
        "custom" | "function" | "namespace" => text_of(tool, "name"),
        // There may be several of these.
        "mcp" => text_of(tool, "server_label"),
        kind => kind,
    }
}

fn tool(found: &mut Found<'_>, tool: &Value, place: &Place) {
    match text_of(tool, "type") {
        "function" => {
            if let Some(fields) = found.form(tool, &FUNCTION, place) {
                let said = fields.contains_key("strict") || !found.profile.strict_tools;
                found.check(said, &place.at("strict"), Rule::Missing);
                found.function(fields, place);
            }
        }
        "custom" => {
            found.check(found.profile.custom_tools, place, Rule::NotTaken);
            let fields = found.form(tool, &CUSTOM, place);
            if let Some(format) = fields.and_then(|fields| said(fields, "format")) {
                custom_format(found, format, &place.at("format"));
            }
        }
        "namespace" => {
            found.form(tool, &NAMESPACE, place);
            let inner = tool.get("tools").and_then(Value::as_array);
            for (n, inner) in inner.into_iter().flatten().enumerate() {
                self::tool(found, inner, &place.at("tools").at(n));
            }
        }
        kind => {
            let known = HOSTED.contains(&kind);
            found.check(known, &place.at("type"), Rule::WrongValue);
        }
    }
}

fn custom_format(found: &mut Found<'_>, format: &Value, place: &Place) {
    match text_of(format, "type") {
        "text" => {
            found.form(format, &TYPED, place);
        }
        "grammar" => {
            let mut form = GRAMMAR.to_vec();
            form.extend(TYPED);
            found.form(format, &form, place);
        }
        _ => found.broken(&place.at("type"), Rule::WrongValue),
    }
}

fn choice(found: &mut Found<'_>, choice: &Value, names: &HashSet<&str>, place: &Place) {
    let forced = !matches!(choice.as_str(), Some("auto" | "none"));
    found.check(!forced || !names.is_empty(), place, Rule::ToolsMissing);
    if let Some(word) = choice.as_str() {
        found.choice_word(word, place);
        return;
    }
    let kind = text_of(choice, "type");
    match kind {
        "custom" | "function" => {
            found.choice_form(ToolChoiceForms::Named, place);
            found.form(choice, &NAMED, place);
            let known = names.contains(text_of(choice, "name"));
            found.check(known, &place.at("name"), Rule::WrongValue);
        }
        "allowed_tools" => {
            found.choice_form(ToolChoiceForms::Subset, place);
            found.form(choice, &ALLOWED, place);
            found.allowed(choice, names, name, place);
        }
        "mcp" => {
            found.form(choice, &MCP_CHOICE, place);
        }
        _ => {
            let known = HOSTED.contains(&kind);
            found.check(known, &place.at("type"), Rule::WrongValue);
            found.form(choice, &TYPED, place);
        }
    }
}
