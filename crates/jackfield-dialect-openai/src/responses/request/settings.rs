//! Maps the settings of a model call.

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use serde_json::{Map, Value, json};

use crate::profile::{EndUser, Profile, StructuredOutput};
use crate::responses::wire;
use crate::settings::{answer, effort as effort_word, sampled, verbosity as verbosity_word};

/// The fields of the body for settings.
#[derive(Debug)]
pub(super) struct MappedSettings {
    pub(super) max_output_tokens: Option<u64>,
    pub(super) reasoning: Option<wire::ReasoningConfig>,
    pub(super) safety_identifier: Option<String>,
    pub(super) service_tier: Option<String>,
    pub(super) temperature: Option<f64>,
    pub(super) text: Option<wire::TextConfig>,
    pub(super) top_k: Option<u32>,
    pub(super) top_p: Option<f64>,
    pub(super) user: Option<String>,
}

pub(super) fn to_wire(settings: &Settings, profile: &Profile, notes: &mut Notes) -> MappedSettings {
    drop_unknown(settings, notes);
    let reasoning = wire::ReasoningConfig {
        effort: effort(settings, profile, notes),
        summary: summary(settings, profile, notes),
        extra: Map::new(),
    };
    let text = wire::TextConfig {
        format: format(settings, profile, notes),
        verbosity: verbosity(settings, profile, notes),
        extra: Map::new(),
    };
    let (safety_identifier, user) = end_user(settings, profile, notes);
    MappedSettings {
        max_output_tokens: max_output_tokens(settings, profile, notes),
        reasoning: (reasoning != wire::ReasoningConfig::default()).then_some(reasoning),
        safety_identifier,
        service_tier: service_tier(settings, profile, notes),
        temperature: sampled(
            settings.temperature,
            profile.sampling,
            (0.0, 2.0),
            "settings.temperature",
            notes,
        ),
        text: (text != wire::TextConfig::default()).then_some(text),
        top_k: top_k(settings, profile, notes),
        top_p: sampled(
            settings.top_p,
            profile.sampling,
            (0.0, 1.0),
            "settings.top_p",
            notes,
        ),
        user,
    }
}

fn max_output_tokens(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<u64> {
    let most = settings.max_output_tokens?;
    let sent = most.max(profile.least_output);
    if sent != most {
        let path = "settings.max_output_tokens";
        notes.approximated(NoteEffect::Cost, "limit_raised", path);
    }
    Some(sent.into())
}

/// Notes the settings that the dialect cannot express.
fn drop_unknown(settings: &Settings, notes: &mut Notes) {
    for (path, set) in [
        (
            "settings.frequency_penalty",
            settings.frequency_penalty.is_some(),
        ),
        (
            "settings.presence_penalty",
            settings.presence_penalty.is_some(),
        ),
        ("settings.seed", settings.seed.is_some()),
    ] {
        if set {
            notes.dropped(NoteEffect::Quality, "setting_not_supported", path);
        }
    }
    for n in 0..settings.stop.len() {
        let path = format_args!("settings.stop[{n}]");
        notes.dropped(NoteEffect::Meaning, "stop_not_supported", path);
    }
}

fn top_k(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<u32> {
    let top_k = settings.top_k?;
    if profile.top_k {
        return Some(top_k);
    }
    notes.dropped(
        NoteEffect::Quality,
        "sampling_not_supported",
        "settings.top_k",
    );
    None
}

fn effort(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<String> {
    let off = settings.thinking == Some(ThinkingMode::Off);
    let path = "settings.thinking";
    let requested = match (settings.effort, settings.thinking) {
        (None, Some(ThinkingMode::Off)) if profile.efforts.contains(&Effort::None) => {
            // Effort expresses both settings.
            notes.approximated(NoteEffect::Cosmetic, "thinking_as_effort", path);
            notes.approximated(
                NoteEffect::Cosmetic,
                "thinking_as_effort",
                "settings.effort",
            );
            return Some(effort_word(Effort::None).to_owned());
        }
        (effort, thinking) => {
            if let Some(thinking) = thinking {
                let effect = match thinking {
                    ThinkingMode::Adaptive => NoteEffect::Cosmetic,
                    ThinkingMode::Budget(_) => NoteEffect::Quality,
                    ThinkingMode::Off if effort == Some(Effort::None) => NoteEffect::Cosmetic,
                    ThinkingMode::Off => NoteEffect::Cost,
                };
                notes.dropped(effect, "thinking_not_sent", path);
            }
            effort?
        }
    };
    let path = "settings.effort";
    let Some(nearest) = nearest(requested, profile.efforts, off) else {
        notes.dropped(NoteEffect::Quality, "effort_not_supported", path);
        return None;
    };
    if nearest != requested {
        notes.approximated(NoteEffect::Quality, "effort_changed", path);
    }
    Some(effort_word(nearest).to_owned())
}

/// The nearest supported level, preferring a higher one; `None` only matches itself.
fn nearest(requested: Effort, known: &[Effort], off: bool) -> Option<Effort> {
    if known.contains(&requested) {
        return Some(requested);
    }
    let thinks = |effort: &&Effort| **effort != Effort::None;
    if requested == Effort::None && off {
        return None;
    }
    let above = known
        .iter()
        .filter(thinks)
        .find(|effort| **effort > requested);
    let below = known
        .iter()
        .rev()
        .filter(thinks)
        .find(|effort| **effort < requested);
    above.or(below).copied()
}

/// The thinking's text is summarised, or not sent at all, which is the default.
fn summary(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<String> {
    let is_shown = settings.thinking_shown?;
    if is_shown && profile.encrypted_reasoning {
        return Some("auto".to_owned());
    }
    let path = "settings.thinking_shown";
    notes.dropped(NoteEffect::Cosmetic, "thinking_display_not_sent", path);
    None
}

fn verbosity(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<String> {
    let verbosity = settings.verbosity?;
    if !profile.verbosity {
        let path = "settings.verbosity";
        notes.dropped(NoteEffect::Quality, "setting_not_supported", path);
        return None;
    }
    Some(verbosity_word(verbosity).to_owned())
}

fn format(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<wire::TextFormat> {
    let path = "settings.response_format";
    let supported = profile.structured_output;
    match &settings.response_format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject if supported == StructuredOutput::None => {
            notes.dropped(NoteEffect::Meaning, "json_object_not_supported", path);
            None
        }
        ResponseFormat::JsonObject => Some(wire::TextFormat::JsonObject {}),
        ResponseFormat::JsonSchema { .. } if supported == StructuredOutput::None => {
            notes.dropped(NoteEffect::Meaning, "schema_not_enforceable", path);
            None
        }
        ResponseFormat::JsonSchema { .. } if supported == StructuredOutput::JsonObject => {
            notes.approximated(NoteEffect::Meaning, "schema_not_enforceable", path);
            Some(wire::TextFormat::JsonObject {})
        }
        ResponseFormat::JsonSchema {
            description,
            name,
            schema,
            strict,
        } => {
            let (schema, strict) = form(schema, *strict, notes);
            Some(wire::TextFormat::JsonSchema {
                description: description.as_deref().map(str::to_owned),
                name: (**name).to_owned(),
                schema,
                strict,
            })
        }
    }
}

/// The schema of an answer, within the enforceable subset if it is strict.
fn form(schema: &Value, strict: Option<bool>, notes: &mut Notes) -> (Value, Option<bool>) {
    let (schema, strict) = answer(schema, strict, notes);
    if schema.is_object() {
        return (schema, strict);
    }
    // `true` and `false` are valid schemas, but the vendor does not accept them.
    let path = "settings.response_format.schema";
    notes.approximated(NoteEffect::Meaning, "schema_root_made_object", path);
    (json!({}), strict)
}

fn service_tier(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<String> {
    let tier = settings.service_tier.as_deref()?;
    if profile.service_tier && TIERS.contains(&tier) {
        return Some(tier.to_owned());
    }
    let path = "settings.service_tier";
    notes.dropped(NoteEffect::Cost, "service_tier_unknown", path);
    None
}

/// The vendor's service tiers (`openai` 3.54.0, 2026-11).
const TIERS: [&str; 7] = [
    "auto",
    "default",
    "fast",
    "flex",
    "priority",
    "scale",
    "ultrafast",
];

fn end_user(
    settings: &Settings,
    profile: &Profile,
    notes: &mut Notes,
) -> (Option<String>, Option<String>) {
    let Some(name) = settings.end_user.as_deref() else {
        return (None, None);
    };
    match profile.end_user {
        EndUser::None => {
            let path = "settings.end_user";
            notes.dropped(NoteEffect::Cosmetic, "end_user_not_sent", path);
            (None, None)
        }
        EndUser::SafetyIdentifier => (Some(name.to_owned()), None),
        EndUser::User => (None, Some(name.to_owned())),
    }
}
