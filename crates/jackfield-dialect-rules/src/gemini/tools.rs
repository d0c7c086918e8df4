//! Rules for the tools of a body and the tool choice.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said, text_of};

impl Found<'_> {
    pub(super) fn tools(&mut self, body: &Map<String, Value>, root: &Place) {
        let mut names = HashSet::new();
        let place = root.at("tools");
        let tools = said(body, "tools").and_then(|tools| self.array(tools, &place));
        for (n, tool) in tools.into_iter().flatten().enumerate() {
            let place = place.at(n);
            let Some(fields) = self.object(tool, &place) else {
                continue;
            };
            self.known_fields(fields, &place, KINDS);
            self.check(!fields.is_empty(), &place, Rule::Empty);
            let place = place.at("functionDeclarations");
            let declared = said(fields, "functionDeclarations");
            let declared = declared.and_then(|list| self.array(list, &place));
            for (k, declaration) in declared.into_iter().flatten().enumerate() {
                let place = place.at(k);
                self.declaration(declaration, &place);
                let is_new = names.insert(text_of(declaration, "name"));
                self.check(is_new, &place.at("name"), Rule::Repeated);
            }
        }
        let Some(config) = said(body, "toolConfig") else {
            return;
        };
        let place = root.at("toolConfig");
        let Some(fields) = self.object(config, &place) else {
            return;
        };
        let known = [
            "functionCallingConfig",
            "includeServerSideToolInvocations",
            "retrievalConfig",
        ];
        self.known_fields(fields, &place, &known);
        if let Some(calling) = said(fields, "functionCallingConfig") {
            self.choice(calling, &names, &place.at("functionCallingConfig"));
        }
    }

    fn declaration(&mut self, declaration: &Value, place: &Place) {
        let Some(fields) = self.object(declaration, place) else {
            return;
        };
        self.known_fields(fields, place, DECLARATION);
        self.required(fields, place, &["name"]);
        self.name(text_of(declaration, "name"), &place.at("name"));
        if let Some(description) = said(fields, "description") {
            self.text(description, &place.at("description"));
        }
        if let Some(schema) = said(fields, "parametersJsonSchema") {
            let place = place.at("parametersJsonSchema");
            let is_object = schema.get("type").is_some_and(|kind| kind == "object");
            self.check(is_object, &place.at("type"), Rule::WrongValue);
            self.schema(schema, schema, &place);
        }
    }

    fn choice(&mut self, config: &Value, declared: &HashSet<&str>, place: &Place) {
        let Some(fields) = self.object(config, place) else {
            return;
        };
        self.known_fields(fields, place, &["allowedFunctionNames", "mode"]);
        if let Some(mode) = fields.get("mode") {
            let modes = ["ANY", "AUTO", "NONE", "VALIDATED"];
            self.one_of(mode, &place.at("mode"), &modes);
        }
        let mode = text_of(config, "mode");
        if mode != "AUTO" && mode != "NONE" {
            self.check(!declared.is_empty(), place, Rule::FunctionNames);
        }
        let place = place.at("allowedFunctionNames");
        let Some(names) = said(fields, "allowedFunctionNames") else {
            return;
        };
        let is_for_names = matches!(mode, "ANY" | "VALIDATED");
        self.check(is_for_names, &place, Rule::FunctionNames);
        for (n, name) in self.array(names, &place).into_iter().flatten().enumerate() {
            let is_declared = name.as_str().is_some_and(|name| declared.contains(name));
            self.check(is_declared, &place.at(n), Rule::FunctionNames);
        }
    }

    pub(super) fn name(&mut self, name: &str, place: &Place) {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let sound = begins && name.len() <= 128 && name.chars().all(fits);
        self.check(sound, place, Rule::Name);
    }
}

const KINDS: &[&str] = &[
    "codeExecution",
    "computerUse",
    "fileSearch",
    "functionDeclarations",
    "googleMaps",
    "googleSearch",
    "googleSearchRetrieval",
    "mcpServers",
    "urlContext",
];

/// The fields of a declaration.
const DECLARATION: &[&str] = &[
    "behavior",
    "description",
    "name",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
];
