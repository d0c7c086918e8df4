//! Rules for the settings of a body.

use jackfield_dialect_gemini::options::ThinkingControl;
use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said};

impl Found<'_> {
    pub(super) fn settings(&mut self, body: &Map<String, Value>, root: &Place) {
        if let Some(tier) = said(body, "serviceTier") {
            let tiers = ["flex", "priority", "standard", "unspecified"];
            self.one_of(tier, &root.at("serviceTier"), &tiers);
        }
        let Some(config) = said(body, "generationConfig") else {
            return;
        };
        let place = root.at("generationConfig");
        let Some(fields) = self.object(config, &place) else {
            return;
        };
        self.known_fields(fields, &place, CONFIG);
        for (key, least, most) in [
            ("frequencyPenalty", -2.0, 2.0),
            ("presencePenalty", -2.0, 2.0),
            ("temperature", 0.0, 2.0),
            ("topP", 0.0, 1.0),
            ("maxOutputTokens", 0.0, f64::from(i32::MAX)),
            ("seed", f64::from(i32::MIN), f64::from(i32::MAX)),
        ] {
            if let Some(value) = said(fields, key) {
                let number = value.as_f64();
                let sound = number.is_some_and(|number| (least..=most).contains(&number));
                self.check(sound, &place.at(key), Rule::OutOfRange);
            }
        }
        if let Some(stops) = said(fields, "stopSequences") {
            let place = place.at("stopSequences");
            let stops = self.array(stops, &place).into_iter().flatten();
            let stops: Vec<&Value> = stops.collect();
            self.check(stops.len() <= 5, &place, Rule::TooMany);
            for (n, stop) in stops.into_iter().enumerate() {
                let text = self.text(stop, &place.at(n));
                let sound = text.is_none_or(|text| !text.is_empty());
                self.check(sound, &place.at(n), Rule::Empty);
            }
        }
        self.format(body, fields, &place);
        if let Some(thinking) = said(fields, "thinkingConfig") {
            self.thinking(thinking, &place.at("thinkingConfig"));
        }
    }

    fn format(&mut self, body: &Map<String, Value>, config: &Map<String, Value>, place: &Place) {
        let Some(kind) = said(config, "responseMimeType") else {
            let schema = said(config, "responseJsonSchema");
            return self.check(schema.is_none(), place, Rule::WrongValue);
        };
        let place_of_kind = place.at("responseMimeType");
        let kinds = ["application/json", "text/plain", "text/x.enum"];
        self.one_of(kind, &place_of_kind, &kinds);
        let tools = said(body, "tools").and_then(Value::as_array);
        let has_functions = tools.is_some_and(|tools| {
            let mut tools = tools.iter();
            tools.any(|tool| tool.get("functionDeclarations").is_some())
        });
        let both = *kind == "application/json" && has_functions;
        let sound = !both || self.profile.json_with_tools;
        self.check(sound, &place_of_kind, Rule::JsonBesideTools);
        if let Some(schema) = said(config, "responseJsonSchema") {
            self.schema(schema, schema, &place.at("responseJsonSchema"));
        }
    }

    fn thinking(&mut self, thinking: &Value, place: &Place) {
        let Some(fields) = self.object(thinking, place) else {
            return;
        };
        let known = ["includeThoughts", "thinkingBudget", "thinkingLevel"];
        self.known_fields(fields, place, &known);
        if let Some(shown) = said(fields, "includeThoughts") {
            self.boolean(shown, &place.at("includeThoughts"));
        }
        let budget = said(fields, "thinkingBudget");
        let level = said(fields, "thinkingLevel").map(|level| level.as_str().unwrap_or_default());
        let sound = match self.profile.thinking {
            ThinkingControl::None => false,
            ThinkingControl::Budget { can_be_off } => {
                level.is_none() && (can_be_off || budget.is_none_or(|budget| *budget != 0))
            }
            ThinkingControl::Level { minimal } => {
                let levels = ["LOW", "MEDIUM", "HIGH", "XHIGH"];
                let is_known = level
                    .is_none_or(|level| levels.contains(&level) || (minimal && level == "MINIMAL"));
                let is_off = budget.is_some_and(|budget| *budget == 0);
                is_known && !is_off && (level.is_none() || budget.is_none())
            }
        };
        self.check(sound, place, Rule::Thinking);
        let in_range = budget.is_none_or(|budget| {
            let budget = budget.as_i64();
            budget.is_some_and(|budget| (-1..=i64::from(i32::MAX)).contains(&budget))
        });
        self.check(in_range, &place.at("thinkingBudget"), Rule::OutOfRange);
    }
}

/// The fields of the generation's settings.
const CONFIG: &[&str] = &[
    "audioTranscriptionConfig",
    "candidateCount",
    "enableEnhancedCivicAnswers",
    "frequencyPenalty",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];
