//! Rules for the settings of both dialects.

use jackfield_dialect_openai::profile::EndUser;
use jackfield_domain::settings::Effort;
use serde_json::{Map, Value};

use super::form::{Field, Is, may, need};
use super::{Found, Rule};
use crate::place::{Place, said};

const EFFORTS: Is = Is::OneOf(LEVELS);
const LEVELS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The fields that both dialects have.
pub(crate) const SHARED: [Field; 15] = [
    may("metadata", Is::OrNull(&Is::Object)),
    may("model", Is::Words(1000)),
    may("moderation", Is::OrNull(&Is::Object)),
    may("parallel_tool_calls", Is::OrNull(&Is::Bool)),
    may("prompt_cache_key", Is::OrNull(&Is::Text)),
    may("prompt_cache_options", Is::Object),
    may(
        "prompt_cache_retention",
        Is::OrNull(&Is::OneOf(&["in_memory", "24h"])),
    ),
    may("safety_identifier", Is::OrNull(&Is::Words(128))),
    may("store", Is::OrNull(&Is::Bool)),
    may("stream", Is::OrNull(&Is::Bool)),
    may("stream_options", Is::OrNull(&Is::Object)),
    may("temperature", Is::OrNull(&Is::Number(0.0, 2.0))),
    may("top_logprobs", Is::OrNull(&Is::Int(0, 20))),
    may("top_p", Is::OrNull(&Is::Number(0.0, 1.0))),
    may("user", Is::Text),
];

/// A cache point in a prompt.
pub(crate) const CACHE_POINT: [Field; 2] = [
    need("mode", Is::OneOf(&["explicit"])),
    may("ttl", Is::OneOf(&["30m", "12h"])),
];

impl Found<'_> {
    /// A field that the profile has to support.
    pub(crate) fn taken(
        &mut self,
        fields: &Map<String, Value>,
        key: &str,
        taken: bool,
        place: &Place,
    ) {
        let sound = taken || said(fields, key).is_none();
        self.check(sound, &place.at(key), Rule::NotTaken);
    }

    /// Checks the shared settings against the profile.
    pub(crate) fn shared_settings(&mut self, body: &Map<String, Value>, place: &Place) {
        let profile = *self.profile;
        for (key, taken) in [
            ("parallel_tool_calls", profile.parallel_calls),
            ("prompt_cache_options", profile.cache_points),
            (
                "safety_identifier",
                profile.end_user == EndUser::SafetyIdentifier,
            ),
            ("service_tier", profile.service_tier),
            ("temperature", profile.sampling),
            ("top_logprobs", profile.sampling),
            ("top_p", profile.sampling),
            ("user", profile.end_user != EndUser::None),
        ] {
            self.taken(body, key, taken, place);
        }
        let streamed = body.get("stream") == Some(&Value::Bool(true));
        let sound = streamed || said(body, "stream_options").is_none();
        self.check(sound, &place.at("stream_options"), Rule::NoStream);
        self.metadata(body, &place.at("metadata"));
    }

    /// Checks that a level of effort is one of those that the model supports.
    pub(crate) fn effort(
        &mut self,
        effort: &Value,
        supported: impl Iterator<Item = Effort>,
        place: &Place,
    ) {
        self.is(effort, EFFORTS, place);
        let known: Vec<&str> = supported.map(word).collect();
        let none = effort
            .as_str()
            .is_none_or(|effort| !LEVELS.contains(&effort));
        let taken = none || effort.as_str().is_some_and(|e| known.contains(&e));
        self.check(taken, place, Rule::NotTaken);
    }

    /// Checks the cache point of a part, if it has one.
    pub(crate) fn cache_point(&mut self, part: &Map<String, Value>, place: &Place) {
        let Some(point) = said(part, "prompt_cache_breakpoint") else {
            return;
        };
        let place = place.at("prompt_cache_breakpoint");
        self.form(point, &CACHE_POINT, &place);
        self.check(self.profile.cache_points, &place, Rule::NotTaken);
    }

    /// At most 16 strings of at most 512 characters, with keys of at most 64.
    fn metadata(&mut self, body: &Map<String, Value>, place: &Place) {
        let Some(pairs) = body.get("metadata").and_then(Value::as_object) else {
            return;
        };
        self.check(pairs.len() <= 16, place, Rule::TooMany);
        for (key, value) in pairs {
            let place = place.at(key);
            if let Some(text) = self.text(value, &place) {
                let sound = key.chars().count() <= 64 && text.chars().count() <= 512;
                self.check(sound, &place, Rule::TooLong);
            }
        }
    }
}

const fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::ExtraHigh => "xhigh",
        Effort::High => "high",
        Effort::Low => "low",
        Effort::Max => "max",
        Effort::Medium => "medium",
        Effort::Minimal => "minimal",
        Effort::None => "none",
    }
}
