//! Rules for tools in both dialects.

use std::collections::HashSet;

use jackfield_dialect_kit::ids::IdForm;
use jackfield_dialect_openai::profile::{StructuredOutput, ToolChoiceForms};
use serde_json::{Map, Value};

use super::form::{Field, Is, may, need};
use super::{Found, Rule};
use crate::place::{Place, text_of};

/// The largest number of tools.
const TOOLS: usize = 128;

/// A grammar of free text.
pub(crate) const GRAMMAR: [Field; 2] = [
    need("definition", Is::Text),
    need("syntax", Is::OneOf(&["lark", "regex"])),
];

/// The fields of a response format with a schema.
pub(crate) const ANSWER: [Field; 4] = [
    may("description", Is::Text),
    need("name", Is::Name(64)),
    may("schema", Is::Object),
    may("strict", Is::OrNull(&Is::Bool)),
];

impl Found<'_> {
    pub(crate) fn is_call_id(&self, id: &str) -> bool {
        match self.profile.call_ids {
            IdForm::NineAlphanumeric => {
                id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
            IdForm::Usual => (1..=64).contains(&id.chars().count()),
        }
    }

    /// Checks that the names of tools are unique, and not too many.
    pub(crate) fn tool_names<'v>(
        &mut self,
        tools: &'v [Value],
        name: impl Fn(&'v Value) -> &'v str,
        place: &Place,
    ) -> HashSet<&'v str> {
        self.check(tools.len() <= TOOLS, place, Rule::TooMany);
        let mut names = HashSet::new();
        for (n, tool) in tools.iter().enumerate() {
            let name = name(tool);
            let sound = name.is_empty() || names.insert(name);
            self.check(sound, &place.at(n), Rule::Repeated);
        }
        names
    }

    /// Checks that the server supports this form of tool choice.
    pub(crate) fn choice_form(&mut self, form: ToolChoiceForms, place: &Place) {
        let taken = self.profile.tool_choice >= form;
        self.check(taken, place, Rule::NotTaken);
    }

    /// Checks a tool choice that is a string.
    pub(crate) fn choice_word(&mut self, word: &str, place: &Place) {
        let known = ["auto", "none", "required"].contains(&word);
        self.check(known, place, Rule::WrongValue);
        self.choice_form(ToolChoiceForms::Words, place);
    }

    /// Checks the tools of a subset; `name` returns the name of each.
    pub(crate) fn allowed(
        &mut self,
        allowed: &Value,
        names: &HashSet<&str>,
        name: impl Fn(&Value) -> &str,
        place: &Place,
    ) {
        let Some(list) = allowed.get("tools") else {
            return;
        };
        let place = place.at("tools");
        for (n, tool) in self.some(list, &place).iter().enumerate() {
            let known = names.contains(name(tool));
            self.check(known, &place.at(n), Rule::WrongValue);
        }
    }

    /// Checks the fields of a function other than its type.
    pub(crate) fn function(&mut self, fields: &Map<String, Value>, place: &Place) {
        let strict = fields.get("strict") == Some(&Value::Bool(true));
        let taken = self.profile.strict_tools || !strict;
        self.check(taken, &place.at("strict"), Rule::NotTaken);
        if let Some(schema) = fields.get("parameters").filter(|schema| !schema.is_null()) {
            self.parameters(schema, strict, &place.at("parameters"));
        }
    }

    /// Checks a response format; `inner` contains the schema, at this place.
    pub(crate) fn answer_form(
        &mut self,
        kind: &str,
        inner: Option<(&Value, &Place)>,
        place: &Place,
    ) {
        let offered = self.profile.structured_output;
        let taken = match kind {
            "text" => true,
            "json_object" => offered != StructuredOutput::None,
            "json_schema" => offered == StructuredOutput::Schema,
            _ => {
                self.broken(&place.at("type"), Rule::WrongValue);
                return;
            }
        };
        self.check(taken, &place.at("type"), Rule::NotTaken);
        if let Some((inner, place)) = inner
            && let Some(schema) = inner.get("schema")
        {
            let strict = inner.get("strict") == Some(&Value::Bool(true));
            self.answer(schema, strict, &place.at("schema"));
        }
    }

    /// Checks that the conversation mentions JSON if the format is any JSON.
    pub(crate) fn json_mentioned(&mut self, kind: &str, conversation: &Value, place: &Place) {
        let told = kind != "json_object" || mentions_json(conversation);
        self.check(told, place, Rule::JsonNotMentioned);
    }
}

fn mentions_json(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(mentions_json),
        Value::Object(fields) => {
            let texts = ["content", "output", "text"];
            texts
                .iter()
                .filter_map(|key| fields.get(*key))
                .any(mentions_json)
        }
        Value::String(text) => text.to_ascii_lowercase().contains("json"),
        Value::Bool(_) | Value::Null | Value::Number(_) => false,
    }
}

/// The name of a tool or choice whose fields are in a field with the name of its type.
pub(crate) fn nested_name(value: &Value) -> &str {
    value
        .get(text_of(value, "type"))
        .map_or("", |inner| text_of(inner, "name"))
}
