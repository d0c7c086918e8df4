//! Rules for the tools of a body.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said, text_of};

impl Found<'_> {
    pub(super) fn tools(&mut self, body: &Map<String, Value>, root: &Place) {
        let place = root.at("tools");
        let tools = said(body, "tools").and_then(|tools| self.array(tools, &place));
        let mut names = HashSet::new();
        for (n, tool) in tools.into_iter().flatten().enumerate() {
            let place = place.at(n);
            let Some(fields) = self.object(tool, &place) else {
                continue;
            };
            self.known_fields(fields, &place, &["function", "type"]);
            self.required(fields, &place, &["function", "type"]);
            if let Some(kind) = said(fields, "type") {
                self.one_of(kind, &place.at("type"), &["function"]);
            }
            let Some(function) = said(fields, "function") else {
                continue;
            };
            let place = place.at("function");
            let Some(fields) = self.object(function, &place) else {
                continue;
            };
            self.known_fields(fields, &place, &["description", "name", "parameters"]);
            self.required(fields, &place, &["name", "parameters"]);
            let is_new = names.insert(text_of(function, "name"));
            self.check(is_new, &place.at("name"), Rule::Repeated);
            if let Some(name) = said(fields, "name") {
                self.words(name, &place.at("name"));
            }
            if let Some(parameters) = said(fields, "parameters") {
                let place = place.at("parameters");
                let is_object = parameters.get("type").is_some_and(|kind| kind == "object");
                self.check(is_object, &place.at("type"), Rule::WrongValue);
                self.schema(parameters, ROOT, &place);
            }
        }
    }

    /// A schema with these keywords, as `ToolFunctionParameters` and `ToolProperty` have them.
    fn schema(&mut self, schema: &Value, known: &[&str], place: &Place) {
        let Some(fields) = self.object(schema, place) else {
            return;
        };
        for (key, value) in fields {
            let place = place.at(key);
            match key.as_str() {
                key if !known.contains(&key) => self.broken(&place, Rule::SchemaSubset),
                "anyOf" => {
                    for (n, one) in self.array(value, &place).into_iter().flatten().enumerate() {
                        self.schema(one, PROPERTY, &place.at(n));
                    }
                }
                "description" => {
                    let _text = self.text(value, &place);
                }
                "enum" => {
                    let _values = self.array(value, &place);
                }
                "properties" => {
                    let properties = self.object(value, &place).into_iter().flatten();
                    for (name, one) in properties {
                        self.schema(one, PROPERTY, &place.at(name));
                    }
                }
                "required" => {
                    for (n, name) in self.array(value, &place).into_iter().flatten().enumerate() {
                        let _text = self.text(name, &place.at(n));
                    }
                }
                "type" => {
                    let list = value.as_array().map(Vec::as_slice);
                    let kinds = list.unwrap_or_else(|| std::slice::from_ref(value));
                    for kind in kinds {
                        let _text = self.text(kind, &place);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The keywords at the root of a schema.
const ROOT: &[&str] = &["$defs", "items", "properties", "required", "type"];

/// The keywords of a property.
const PROPERTY: &[&str] = &[
    "anyOf",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "type",
];
