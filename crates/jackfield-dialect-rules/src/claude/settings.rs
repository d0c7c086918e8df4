//! Rules for the settings of a body.

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said};

impl Found<'_> {
    pub(super) fn settings(&mut self, fields: &Map<String, Value>, place: &Place) {
        if let Some(model) = fields.get("model") {
            self.words(model, &place.at("model"));
        }
        if let Some(max) = fields.get("max_tokens") {
            self.check(max.is_u64(), &place.at("max_tokens"), Rule::OutOfRange);
        }
        if let Some(stream) = fields.get("stream") {
            self.boolean(stream, &place.at("stream"));
        }
        if let Some(tier) = fields.get("service_tier") {
            let place = place.at("service_tier");
            self.one_of(tier, &place, &["auto", "standard_only"]);
        }
        if let Some(speed) = said(fields, "speed") {
            self.one_of(speed, &place.at("speed"), &["standard", "fast"]);
        }
        if let Some(texts) = fields.get("stop_sequences") {
            let place = place.at("stop_sequences");
            for (n, text) in self.array(texts, &place).into_iter().flatten().enumerate() {
                self.words(text, &place.at(n));
            }
        }
        if let Some(metadata) = fields.get("metadata") {
            self.metadata(metadata, &place.at("metadata"));
        }
        self.cache_control(fields, place);
        self.sampling(fields, place);
        if let Some(thinking) = fields.get("thinking") {
            self.thinking(thinking, fields, &place.at("thinking"));
        }
        if let Some(config) = fields.get("output_config") {
            self.output_config(config, &place.at("output_config"));
        }
    }

    fn metadata(&mut self, metadata: &Value, place: &Place) {
        let Some(fields) = self.object(metadata, place) else {
            return;
        };
        self.known_fields(fields, place, &["user_id"]);
        if let Some(user) = said(fields, "user_id") {
            self.text(user, &place.at("user_id"));
        }
    }

    /// Removed in 2026-10-21; under the older version, later models accept only the defaults.
    fn sampling(&mut self, fields: &Map<String, Value>, place: &Place) {
        let is_pair = fields.contains_key("temperature") && fields.contains_key("top_p");
        if is_pair && self.profile.sampling && !self.profile.sampling_pair {
            self.broken(&place.at("top_p"), Rule::SamplingPair);
        }
        for key in ["temperature", "top_p", "top_k"] {
            let Some(value) = fields.get(key) else {
                continue;
            };
            let place = place.at(key);
            let number = value.as_f64();
            self.check(number.is_some(), &place, Rule::WrongType);
            let number = number.unwrap_or(1.0);
            if self.profile.api_version >= "2026-10-21" {
                self.broken(&place, Rule::Sampling);
            } else if !self.profile.sampling {
                let default = match key {
                    "temperature" => number >= 1.0,
                    "top_p" => number >= 0.99,
                    _ => false,
                };
                self.check(default, &place, Rule::Sampling);
            } else if key != "top_k" {
                self.check((0.0..=1.0).contains(&number), &place, Rule::OutOfRange);
            }
        }
    }

    fn thinking(&mut self, thinking: &Value, body: &Map<String, Value>, place: &Place) {
        let Some(fields) = self.object(thinking, place) else {
            return;
        };
        let known: &[&str] = match fields.get("type").and_then(Value::as_str) {
            Some("adaptive") => {
                let offered = self.profile.adaptive_thinking;
                self.check(offered, place, Rule::ThinkingMode);
                &["type", "display", "block_binding"]
            }
            Some("between_tools") => &["type"],
            Some("disabled") => {
                self.check(self.profile.thinking_off, place, Rule::ThinkingMode);
                &["type"]
            }
            Some("enabled") => {
                let offered = self.profile.thinking_budget;
                self.check(offered, place, Rule::ThinkingMode);
                let place = place.at("budget_tokens");
                match fields.get("budget_tokens").map(Value::as_u64) {
                    None => self.broken(&place, Rule::Missing),
                    Some(budget) => {
                        let max = body.get("max_tokens").and_then(Value::as_u64);
                        let sound =
                            budget.is_some_and(|b| b >= 1024 && max.is_none_or(|max| b < max));
                        self.check(sound, &place, Rule::OutOfRange);
                    }
                }
                &["type", "budget_tokens", "display", "block_binding"]
            }
            Some(_) | None => {
                self.broken(&place.at("type"), Rule::WrongValue);
                return;
            }
        };
        self.known_fields(fields, place, known);
        if let Some(display) = said(fields, "display") {
            let place = place.at("display");
            // The last one with the beta `thinking-display-updates-2026-08-18`, which Claude Code 2.1.332 sends.
            self.one_of(display, &place, &["summarized", "omitted", "updates"]);
        }
    }

    fn output_config(&mut self, config: &Value, place: &Place) {
        let Some(fields) = self.object(config, place) else {
            return;
        };
        self.known_fields(fields, place, &["effort", "format", "task_budget"]);
        if let Some(effort) = said(fields, "effort") {
            let efforts = ["low", "medium", "high", "xhigh", "max"];
            self.one_of(effort, &place.at("effort"), &efforts);
        }
        let Some(format) = said(fields, "format") else {
            return;
        };
        let place = place.at("format");
        let Some(fields) = self.object(format, &place) else {
            return;
        };
        self.known_fields(fields, &place, &["type", "schema"]);
        match fields.get("type") {
            Some(kind) => self.one_of(kind, &place.at("type"), &["json_schema"]),
            None => self.broken(&place.at("type"), Rule::Missing),
        }
        match fields.get("schema") {
            Some(schema) => self.schema(schema, &place.at("schema")),
            None => self.broken(&place.at("schema"), Rule::Missing),
        }
    }
}
