//! Maps the settings of a model call.

use jackfield_dialect_claude::request as claude;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::settings::drop_all_but;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{ResponseFormat, Settings};
use serde_json::{Map, Value, json};

use crate::profile::ModelProfile;
use crate::wire;

/// The default of the most tokens, where it is not Claude's: few models write less at most.
const DEFAULT_MAX_TOKENS: u32 = 4096;

/// The name of a response format, if the wire has none.
const FORMAT_NAME: &str = "response";

/// What begins the words for a format.
const ASKED: &str =
    "Give your last answer, when you call no more tools, as nothing but a JSON object";

/// A field of the model's own for thinking.
pub(super) const THINKING: &str = "thinking";

/// Fields of a model's own that are mapped from settings.
pub(super) const OURS: [&str; 3] = [THINKING, "tool_choice", "top_k"];

/// The settings that have a field; that of tools is mapped with them.
const TAKEN: &[&str] = &[
    "effort",
    "extensions",
    "max_output_tokens",
    "parallel_calls",
    "response_format",
    "service_tier",
    "stop",
    "temperature",
    "thinking",
    "thinking_shown",
    "top_k",
    "top_p",
];

#[derive(Debug)]
pub(super) struct MappedSettings {
    /// What the system prompt has to ask for, as the model has no setting for it.
    pub(super) asked: Option<String>,
    /// Fields of the model's own.
    pub(super) fields: Map<String, Value>,
    pub(super) inference: wire::InferenceConfig,
    pub(super) output: Option<wire::OutputConfig>,
    pub(super) tier: Option<wire::ServiceTier>,
}

pub(super) fn to_wire(
    settings: &Settings,
    profile: &ModelProfile,
    notes: &mut Notes,
) -> MappedSettings {
    drop_all_but(TAKEN, settings, notes);
    let max_tokens = max_tokens(settings, profile, notes);
    let mut fields = Map::new();
    let (mut effort, mut thinks) = (None, false);
    if let Some(claude) = &profile.claude {
        let thinking = claude::thinking(settings, claude, max_tokens.into(), notes);
        effort = claude::effort(settings, claude, notes);
        if let Some(thinking) = thinking {
            thinks = thinking.kind != "disabled";
            let json = serde_json::to_value(&thinking).unwrap_or_default();
            fields.insert(THINKING.to_owned(), json);
        }
    } else {
        for (name, is_set) in [
            ("effort", settings.effort.is_some()),
            ("thinking", settings.thinking.is_some()),
            ("thinking_shown", settings.thinking_shown.is_some()),
        ] {
            if is_set {
                let path = format_args!("settings.{name}");
                notes.dropped(NoteEffect::Quality, "thinking_not_supported", path);
            }
        }
    }
    let samples = profile.sampling() && !thinks;
    if let Some(top_k) = settings.top_k {
        if samples && profile.claude.is_some() {
            fields.insert("top_k".to_owned(), json!(top_k));
        } else {
            let path = "settings.top_k";
            notes.dropped(NoteEffect::Quality, "sampling_not_supported", path);
        }
    }
    let top_p = match &profile.claude {
        Some(claude) if samples => claude::top_p(settings, claude, notes),
        Some(_) | None => settings.top_p,
    };
    let (text_format, asked) = format(settings, profile, notes);
    let output = wire::OutputConfig {
        effort,
        text_format,
    };
    MappedSettings {
        asked,
        fields,
        inference: wire::InferenceConfig {
            max_tokens,
            stop_sequences: notes.stop_sequences(settings),
            temperature: sampled(settings.temperature, samples, "temperature", notes),
            top_p: sampled(top_p, samples, "top_p", notes),
        },
        output: (output != wire::OutputConfig::default()).then_some(output),
        tier: service_tier(settings, notes),
    }
}

/// The limit is always sent: without one, Bedrock reserves the model's maximum of the account's quota.
fn max_tokens(settings: &Settings, profile: &ModelProfile, notes: &mut Notes) -> u32 {
    let path = "settings.max_output_tokens";
    let limit = i32::MAX.unsigned_abs();
    match settings.max_output_tokens {
        Some(most) if most > limit => {
            notes.approximated(NoteEffect::Cosmetic, "max_tokens_cut", path);
            limit
        }
        Some(most) => most.max(1),
        None => {
            notes.approximated(NoteEffect::Cosmetic, "max_tokens_defaulted", path);
            match &profile.claude {
                Some(claude) => {
                    let default = claude::default_max_tokens(settings, claude);
                    u32::try_from(default).unwrap_or(limit).min(limit)
                }
                None => DEFAULT_MAX_TOKENS,
            }
        }
    }
}

/// A sampling parameter, within the range of 0 to 1.
fn sampled(value: Option<f64>, samples: bool, name: &str, notes: &mut Notes) -> Option<f64> {
    let value = value?;
    let path = format_args!("settings.{name}");
    if !samples || !value.is_finite() {
        notes.dropped(NoteEffect::Quality, "sampling_not_supported", path);
        return None;
    }
    let sent = value.clamp(0.0, 1.0);
    if sent != value {
        notes.approximated(NoteEffect::Quality, "sampling_cut", path);
    }
    Some(sent)
}

fn service_tier(settings: &Settings, notes: &mut Notes) -> Option<wire::ServiceTier> {
    let tier = settings.service_tier.as_deref()?;
    if TIERS.contains(&tier) {
        let kind = tier.to_owned();
        return Some(wire::ServiceTier { kind });
    }
    let path = "settings.service_tier";
    notes.dropped(NoteEffect::Cost, "service_tier_unknown", path);
    None
}

/// The format of the answer, and what is asked for in words instead: any object at all, and any schema of a model that
/// cannot be held to one.
fn format(
    settings: &Settings,
    profile: &ModelProfile,
    notes: &mut Notes,
) -> (Option<wire::TextFormat>, Option<String>) {
    let path = "settings.response_format";
    let ResponseFormat::JsonSchema {
        description,
        name,
        schema,
        strict,
    } = &settings.response_format
    else {
        let is_object = settings.response_format == ResponseFormat::JsonObject;
        if is_object {
            notes.approximated(NoteEffect::Meaning, "format_in_words", path);
        }
        return (None, is_object.then(|| format!("{ASKED}.")));
    };
    let restricted = claude::restrict_schema(schema).filter(|_| profile.structured_output);
    let Some((sent, changes)) = restricted else {
        notes.approximated(NoteEffect::Meaning, "format_in_words", path);
        let described = description.as_deref().map(|text| format!(" ({text})"));
        let described = described.unwrap_or_default();
        let words = format!("{ASKED}{described} that matches this JSON schema: {schema}");
        return (None, Some(words));
    };
    notes.schema_changes(format_args!("{path}.schema"), changes);
    // It is always enforced.
    if strict.is_some() {
        let path = format_args!("{path}.strict");
        notes.dropped(NoteEffect::Cosmetic, "format_field_not_sent", path);
    }
    let format = wire::TextFormat {
        kind: "json_schema",
        structure: wire::Structure {
            json_schema: wire::JsonSchema {
                schema: sent.to_string(),
                name: (**name != *FORMAT_NAME).then(|| (**name).to_owned()),
                description: description.as_deref().map(str::to_owned),
            },
        },
    };
    (Some(format), None)
}

/// The classes of price and speed.
const TIERS: [&str; 4] = ["default", "flex", "priority", "reserved"];
