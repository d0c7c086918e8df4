//! Rules for the tools of a body.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Family, Found, Rule, is_form};
use crate::place::{Place, said, text_of};

impl Found<'_> {
    pub(super) fn tools(&mut self, body: &Map<String, Value>, root: &Place) {
        let place = root.at("toolConfig");
        let Some(fields) = said(body, "toolConfig").and_then(|config| self.object(config, &place))
        else {
            return;
        };
        self.known_fields(fields, &place, &["toolChoice", "tools"]);
        self.required(fields, &place, &["tools"]);
        let tools_place = place.at("tools");
        let tools = said(fields, "tools").and_then(|tools| self.array(tools, &tools_place));
        let tools = tools.map_or(&[][..], Vec::as_slice);
        self.check(!tools.is_empty(), &tools_place, Rule::Empty);
        let mut names = HashSet::new();
        for (n, tool) in tools.iter().enumerate() {
            if let Some(point) = tool.get("cachePoint") {
                self.check(n > 0, &tools_place.at(n), Rule::Misplaced);
                let is_claude = *self.profile == Family::Claude;
                self.check(is_claude, &tools_place.at(n), Rule::NotSupported);
                self.cache_point(point, &tools_place.at(n).at("cachePoint"));
                continue;
            }
            let place = tools_place.at(n).at("toolSpec");
            let Some(fields) = tool.get("toolSpec").and_then(Value::as_object) else {
                self.broken(&place, Rule::Missing);
                continue;
            };
            let known = ["description", "inputSchema", "name", "strict"];
            self.known_fields(fields, &place, &known);
            let name = fields
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            self.check(is_form(name, 64, "_-"), &place.at("name"), Rule::Form);
            self.check(names.insert(name), &place.at("name"), Rule::Repeated);
            if let Some(description) = said(fields, "description") {
                self.words(description, &place.at("description"));
            }
            if let Some(strict) = said(fields, "strict") {
                self.boolean(strict, &place.at("strict"));
            }
            let schema = fields
                .get("inputSchema")
                .and_then(|input| input.get("json"));
            let place = place.at("inputSchema").at("json");
            let is_object = schema.is_some_and(|schema| text_of(schema, "type") == "object");
            self.check(is_object, &place.at("type"), Rule::WrongValue);
            for key in ["allOf", "anyOf", "oneOf"] {
                let is_there = schema.is_some_and(|schema| schema.get(key).is_some());
                self.check(!is_there, &place.at(key), Rule::NotSupported);
            }
        }
        let place = place.at("toolChoice");
        let Some(choice) = said(fields, "toolChoice").and_then(|one| self.object(one, &place))
        else {
            return;
        };
        let may_force = *self.profile != Family::Other;
        match choice
            .iter()
            .next()
            .map(|(kind, value)| (kind.as_str(), value))
        {
            Some(("auto", _)) => {}
            Some(("any", _)) => self.check(may_force, &place, Rule::NotSupported),
            Some(("tool", tool)) => {
                let may = may_force && *self.profile != Family::Mistral;
                self.check(may, &place, Rule::NotSupported);
                let is_there = names.contains(text_of(tool, "name"));
                self.check(is_there, &place.at("tool").at("name"), Rule::WrongValue);
            }
            Some(_) | None => self.broken(&place, Rule::WrongType),
        }
    }
}
