//! Rules for the settings of a body.

use serde_json::{Map, Value};

use super::{Family, Found, Rule};
use crate::place::{Place, said, text_of};

impl Found<'_> {
    pub(super) fn settings(&mut self, body: &Map<String, Value>, root: &Place) {
        self.inference(body, root);
        self.output(body, root);
        let place = root.at("serviceTier");
        if let Some(tier) = said(body, "serviceTier")
            && let Some(fields) = self.object(tier, &place)
        {
            self.known_fields(fields, &place, &["type"]);
            let tiers = ["default", "flex", "priority", "reserved"];
            self.check(
                tiers.contains(&text_of(tier, "type")),
                &place.at("type"),
                Rule::WrongValue,
            );
        }
        let place = root.at("additionalModelResponseFieldPaths");
        let paths = said(body, "additionalModelResponseFieldPaths");
        let paths = paths.and_then(|paths| self.array(paths, &place));
        if let Some(paths) = paths {
            self.check(paths.len() <= 10, &place, Rule::TooMany);
        }
        for (n, path) in paths.into_iter().flatten().enumerate() {
            let place = place.at(n);
            if let Some(path) = self.text(path, &place) {
                let is_pointer = path.starts_with('/') && path.len() <= 256;
                self.check(is_pointer, &place, Rule::Form);
            }
        }
        let place = root.at("additionalModelRequestFields");
        if let Some(own) = said(body, "additionalModelRequestFields")
            && let Some(fields) = self.object(own, &place)
        {
            let choice = fields.get("tool_choice");
            let has_type = choice.is_some_and(|choice| choice.get("type").is_some());
            let has_choice = body
                .get("toolConfig")
                .is_some_and(|config| config.get("toolChoice").is_some());
            self.check(
                !(has_type && has_choice),
                &place.at("tool_choice"),
                Rule::Conflict,
            );
            for name in ["thinking", "tool_choice", "top_k"] {
                let is_claudes = *self.profile == Family::Claude || !fields.contains_key(name);
                self.check(is_claudes, &place.at(name), Rule::NotSupported);
            }
        }
    }

    fn inference(&mut self, body: &Map<String, Value>, root: &Place) {
        let place = root.at("inferenceConfig");
        let Some(fields) =
            said(body, "inferenceConfig").and_then(|config| self.object(config, &place))
        else {
            return;
        };
        let known = ["maxTokens", "stopSequences", "temperature", "topP"];
        self.known_fields(fields, &place, &known);
        // Not required by the server, which then reserves the model's maximum of the quota.
        self.required(fields, &place, &["maxTokens"]);
        if let Some(most) = said(fields, "maxTokens") {
            let most = most.as_i64().and_then(|most| i32::try_from(most).ok());
            self.check(
                most.is_some_and(|most| most > 0),
                &place.at("maxTokens"),
                Rule::OutOfRange,
            );
        }
        for name in ["temperature", "topP"] {
            if let Some(value) = said(fields, name) {
                let fits = value
                    .as_f64()
                    .is_some_and(|value| (0.0..=1.0).contains(&value));
                self.check(fits, &place.at(name), Rule::OutOfRange);
            }
        }
        let place = place.at("stopSequences");
        let stops = said(fields, "stopSequences").and_then(|stops| self.array(stops, &place));
        for (n, stop) in stops.into_iter().flatten().enumerate() {
            self.words(stop, &place.at(n));
        }
    }

    fn output(&mut self, body: &Map<String, Value>, root: &Place) {
        let place = root.at("outputConfig");
        let Some(fields) =
            said(body, "outputConfig").and_then(|output| self.object(output, &place))
        else {
            return;
        };
        self.known_fields(fields, &place, &["effort", "textFormat"]);
        if let Some(effort) = said(fields, "effort") {
            let levels = ["high", "low", "max", "medium", "xhigh"];
            self.one_of(effort, &place.at("effort"), &levels);
        }
        let Some(format) = said(fields, "textFormat") else {
            return;
        };
        let place = place.at("textFormat");
        self.check(
            text_of(format, "type") == "json_schema",
            &place.at("type"),
            Rule::WrongValue,
        );
        let place = place.at("structure").at("jsonSchema");
        let Some(schema) = format
            .pointer("/structure/jsonSchema")
            .and_then(Value::as_object)
        else {
            self.broken(&place, Rule::Missing);
            return;
        };
        self.known_fields(schema, &place, &["description", "name", "schema"]);
        // The schema is JSON in a text.
        let text = schema.get("schema").and_then(Value::as_str);
        let is_object = text.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
        self.check(is_object.is_some(), &place.at("schema"), Rule::WrongType);
    }
}
