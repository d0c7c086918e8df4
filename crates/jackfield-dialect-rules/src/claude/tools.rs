//! Rules for the tools of a body and the tool choice.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said, text_of};

/// The fields of a custom tool.
const TOOL_FIELDS: &[&str] = &[
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "input_schema",
    "name",
    "strict",
    "type",
];

/// The prefixes of the types of the vendor's tools; versions follow.
const VENDOR_TOOLS: &[&str] = &[
    "advisor_",
    "bash_",
    "browser_toolset_",
    "code_execution_",
    "computer_",
    "mcp_toolset",
    "memory_",
    "text_editor_",
    "tool_search_tool_",
    "web_fetch_",
    "web_search_",
];

impl Found<'_> {
    pub(super) fn tools(&mut self, body: &Map<String, Value>, place: &Place) {
        let mut names = HashSet::new();
        let mut deferred = 0;
        let mut count = 0;
        if let Some(tools) = body.get("tools") {
            let place = place.at("tools");
            for (n, tool) in self.array(tools, &place).into_iter().flatten().enumerate() {
                let place = place.at(n);
                let Some(fields) = self.object(tool, &place) else {
                    continue;
                };
                count += 1;
                deferred += usize::from(fields.get("defer_loading") == Some(&Value::Bool(true)));
                self.tool(fields, &place);
                let name = text_of(tool, "name");
                if !name.is_empty() && !names.insert(name) {
                    self.broken(&place.at("name"), Rule::Repeated);
                }
            }
            self.check(count == 0 || deferred < count, &place, Rule::OnlyDeferred);
        }
        if let Some(choice) = said(body, "tool_choice") {
            let place = place.at("tool_choice");
            self.check(count > 0, &place, Rule::ToolsMissing);
            self.tool_choice(choice, body, &names, &place);
        }
    }

    fn tool(&mut self, fields: &Map<String, Value>, place: &Place) {
        self.cache_control(fields, place);
        match said(fields, "type").map(|kind| kind.as_str().unwrap_or_default()) {
            None | Some("custom") => {}
            Some(kind) => {
                let known = VENDOR_TOOLS.iter().any(|known| kind.starts_with(known));
                self.check(known, &place.at("type"), Rule::WrongValue);
                return;
            }
        }
        self.known_fields(fields, place, TOOL_FIELDS);
        self.required(fields, place, &["name", "input_schema"]);
        if let Some(name) = fields.get("name") {
            self.name(name, &place.at("name"));
        }
        if let Some(description) = fields.get("description") {
            self.text(description, &place.at("description"));
        }
        if let Some(strict) = fields.get("strict") {
            self.boolean(strict, &place.at("strict"));
        }
        if let Some(schema) = fields.get("input_schema") {
            let strict = fields.get("strict") == Some(&Value::Bool(true));
            self.input_schema(schema, strict, &place.at("input_schema"));
        }
    }

    pub(super) fn name(&mut self, name: &Value, place: &Place) {
        if let Some(name) = self.text(name, place) {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let sound = (1..=128).contains(&name.len()) && name.chars().all(fits);
            self.check(sound, place, Rule::Name);
        }
    }

    fn tool_choice(
        &mut self,
        choice: &Value,
        body: &Map<String, Value>,
        names: &HashSet<&str>,
        place: &Place,
    ) {
        let Some(fields) = self.object(choice, place) else {
            return;
        };
        let known: &[&str] = match text_of(choice, "type") {
            "auto" => &["type", "disable_parallel_tool_use"],
            "any" => {
                self.forced(body, place);
                &["type", "disable_parallel_tool_use"]
            }
            "none" => &["type"],
            "tool" => {
                self.forced(body, place);
                let known = names.contains(text_of(choice, "name"));
                self.check(known, &place.at("name"), Rule::WrongValue);
                &["type", "name", "disable_parallel_tool_use"]
            }
            _ => {
                self.broken(&place.at("type"), Rule::WrongValue);
                return;
            }
        };
        self.known_fields(fields, place, known);
        if let Some(one) = fields.get("disable_parallel_tool_use") {
            self.boolean(one, &place.at("disable_parallel_tool_use"));
        }
    }

    /// With thinking, only `auto` and `none` were ever permitted.
    fn forced(&mut self, body: &Map<String, Value>, place: &Place) {
        let thinking = body.get("thinking");
        let thinks = thinking.is_some_and(|thinking| text_of(thinking, "type") != "disabled");
        let sound = self.profile.forced_tools && !thinks;
        self.check(sound, place, Rule::ForcedTools);
    }
}
