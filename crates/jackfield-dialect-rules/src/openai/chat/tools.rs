//! Rules for tools and the tool choice.

use std::collections::HashSet;

use jackfield_dialect_openai::profile::ToolChoiceForms;
use serde_json::{Map, Value};

use crate::openai::form::{Field, Is, may, need};
use crate::openai::tools::{GRAMMAR, nested_name};
use crate::openai::{Found, Rule};
use crate::place::{Place, said, text_of};

const FUNCTION_TOOL: [Field; 2] = [need("function", Is::Object), need("type", Is::Text)];
const FUNCTION: [Field; 4] = [
    may("description", Is::Text),
    need("name", Is::Name(64)),
    may("parameters", Is::Object),
    may("strict", Is::OrNull(&Is::Bool)),
];

const CUSTOM_TOOL: [Field; 2] = [need("custom", Is::Object), need("type", Is::Text)];
const CUSTOM: [Field; 3] = [
    may("description", Is::Text),
    may("format", Is::Object),
    need("name", Is::Name(64)),
];
const FREE_TEXT: [Field; 1] = [need("type", Is::Text)];
const GRAMMAR_FORMAT: [Field; 2] = [need("grammar", Is::Object), need("type", Is::Text)];

const NAMED: [Field; 1] = [need("name", Is::Text)];
const ALLOWED_CHOICE: [Field; 2] = [need("allowed_tools", Is::Object), need("type", Is::Text)];
const ALLOWED: [Field; 2] = [
    need("mode", Is::OneOf(&["auto", "required"])),
    need("tools", Is::List),
];

pub(super) fn check(found: &mut Found<'_>, body: &Map<String, Value>, root: &Place) {
    let place = root.at("tools");
    let tools = said(body, "tools");
    let tools = tools
        .map(|tools| found.some(tools, &place))
        .unwrap_or_default();
    for (n, each) in tools.iter().enumerate() {
        tool(found, each, &place.at(n));
    }
    let names = found.tool_names(tools, nested_name, &place);
    for key in ["parallel_tool_calls", "tool_choice"] {
        let alone = tools.is_empty() && said(body, key).is_some();
        found.check(!alone, &root.at(key), Rule::ToolsMissing);
    }
    if let Some(chosen) = said(body, "tool_choice") {
        choice(found, chosen, &names, &root.at("tool_choice"));
    }
    let effort = body.get("reasoning_effort").and_then(Value::as_str);
    let sound = !found.profile.tools_without_effort || tools.is_empty() || effort == Some("none");
    found.check(sound, &root.at("reasoning_effort"), Rule::ToolsWithEffort);
}

fn tool(found: &mut Found<'_>, tool: &Value, place: &Place) {
    match text_of(tool, "type") {
        "function" => {
            found.form(tool, &FUNCTION_TOOL, place);
            let place = place.at("function");
            let inner = tool.get("function");
            if let Some(fields) = inner.and_then(|f| found.form(f, &FUNCTION, &place)) {
                found.function(fields, &place);
            }
        }
        "custom" => {
            found.check(found.profile.custom_tools, place, Rule::NotTaken);
            found.form(tool, &CUSTOM_TOOL, place);
            let place = place.at("custom");
            let inner = tool.get("custom");
            let fields = inner.and_then(|custom| found.form(custom, &CUSTOM, &place));
            if let Some(format) = fields.and_then(|fields| said(fields, "format")) {
                custom_format(found, format, &place.at("format"));
            }
        }
        _ => found.broken(&place.at("type"), Rule::WrongValue),
    }
}

fn custom_format(found: &mut Found<'_>, format: &Value, place: &Place) {
    match text_of(format, "type") {
        "text" => {
            found.form(format, &FREE_TEXT, place);
        }
        "grammar" => {
            found.form(format, &GRAMMAR_FORMAT, place);
            if let Some(grammar) = format.get("grammar") {
                found.form(grammar, &GRAMMAR, &place.at("grammar"));
            }
        }
        _ => found.broken(&place.at("type"), Rule::WrongValue),
    }
}

fn choice(found: &mut Found<'_>, choice: &Value, names: &HashSet<&str>, place: &Place) {
    if let Some(word) = choice.as_str() {
        found.choice_word(word, place);
        return;
    }
    match text_of(choice, "type") {
        kind @ ("custom" | "function") => {
            found.choice_form(ToolChoiceForms::Named, place);
            let form = if kind == "custom" {
                &CUSTOM_TOOL
            } else {
                &FUNCTION_TOOL
            };
            found.form(choice, form, place);
            let place = place.at(kind);
            if let Some(named) = choice.get(kind) {
                found.form(named, &NAMED, &place);
            }
            let known = names.contains(nested_name(choice));
            found.check(known, &place.at("name"), Rule::WrongValue);
        }
        "allowed_tools" => {
            found.choice_form(ToolChoiceForms::Subset, place);
            found.form(choice, &ALLOWED_CHOICE, place);
            if let Some(allowed) = choice.get("allowed_tools") {
                let place = place.at("allowed_tools");
                found.form(allowed, &ALLOWED, &place);
                found.allowed(allowed, names, nested_name, &place);
            }
        }
        _ => found.broken(place, Rule::WrongValue),
    }
}
