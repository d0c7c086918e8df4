//! Maps the settings of a model call.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::settings::drop_all_but;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use serde_json::Value;

use crate::options::{Profile, ThinkingControl};
use crate::schema::restrict;
use crate::wire;

/// The name of a response format, as the wire format has none.
pub(crate) const FORMAT_NAME: &str = "response";

/// The most stop sequences (Gemini API, `GenerationConfig`).
const MOST_STOPS: usize = 5;

/// The budgets in tokens that stand for efforts, where there are no levels: those of the vendor's own compatibility
/// with OpenAI (Gemini API documentation, OpenAI compatibility, 2026-11).
const BUDGETS: [(Effort, i64); 6] = [
    (Effort::Minimal, 1024),
    (Effort::Low, 1024),
    (Effort::Medium, 8192),
    (Effort::High, 24576),
    (Effort::ExtraHigh, 24576),
    (Effort::Max, 24576),
];

/// The price and speed classes (`google-genai` 3.6.1, `ServiceTier`).
const TIERS: [&str; 3] = ["flex", "priority", "standard"];

/// The settings that have a field; that of tools is mapped with them.
const TAKEN: &[&str] = &[
    "effort",
    "extensions",
    "frequency_penalty",
    "max_output_tokens",
    "parallel_calls",
    "presence_penalty",
    "response_format",
    "seed",
    "service_tier",
    "stop",
    "temperature",
    "thinking",
    "thinking_shown",
    "top_k",
    "top_p",
];

/// The settings of the generation, and the service tier.
pub(super) fn to_wire(
    settings: &Settings,
    profile: &Profile,
    has_tools: bool,
    notes: &mut Notes,
) -> (wire::GenerationConfig, Option<String>) {
    drop_all_but(TAKEN, settings, notes);
    let (response_mime_type, response_json_schema) = format(settings, profile, has_tools, notes);
    let mut config = wire::GenerationConfig {
        temperature: sampled(settings.temperature, (0.0, 2.0), "temperature", notes),
        top_p: sampled(settings.top_p, (0.0, 1.0), "top_p", notes),
        top_k: settings.top_k,
        max_output_tokens: max_output_tokens(settings, notes),
        stop_sequences: stop_sequences(settings, notes),
        presence_penalty: sampled(
            settings.presence_penalty,
            PENALTY,
            "presence_penalty",
            notes,
        ),
        frequency_penalty: sampled(
            settings.frequency_penalty,
            PENALTY,
            "frequency_penalty",
            notes,
        ),
        seed: seed(settings, notes),
        response_mime_type,
        response_schema: None,
        response_json_schema,
        thinking_config: None,
        extra: serde_json::Map::new(),
    };
    let thinking = thinking(settings, profile, notes);
    config.thinking_config = (thinking != wire::ThinkingConfig::default()).then_some(thinking);
    (config, service_tier(settings, notes))
}

/// The range of the penalties: below 2 (Vertex AI, `GenerationConfig`).
const PENALTY: (f64, f64) = (-2.0, 1.999);

fn sampled(
    value: Option<f64>,
    (least, most): (f64, f64),
    setting: &str,
    notes: &mut Notes,
) -> Option<f64> {
    let value = value?;
    let sent = value.clamp(least, most);
    if sent != value {
        let path = format_args!("settings.{setting}");
        notes.approximated(NoteEffect::Quality, "sampling_cut", path);
    }
    Some(sent).filter(|sent| sent.is_finite())
}

/// Signed 32-bit numbers on the wire.
fn max_output_tokens(settings: &Settings, notes: &mut Notes) -> Option<u32> {
    let most = settings.max_output_tokens?;
    let limit = i32::MAX.unsigned_abs();
    if most > limit {
        let path = "settings.max_output_tokens";
        notes.approximated(NoteEffect::Cosmetic, "max_tokens_cut", path);
    }
    Some(most.min(limit))
}

fn seed(settings: &Settings, notes: &mut Notes) -> Option<i64> {
    let seed = settings.seed?;
    if i32::try_from(seed).is_ok() {
        return Some(seed);
    }
    notes.dropped(NoteEffect::Quality, "seed_too_large", "settings.seed");
    None
}

fn stop_sequences(settings: &Settings, notes: &mut Notes) -> Option<Vec<String>> {
    let mut sequences = Vec::new();
    for (n, text) in settings.stop.iter().enumerate() {
        let path = format_args!("settings.stop[{n}]");
        if text.is_empty() {
            notes.dropped(NoteEffect::Meaning, "blank_stop_sequence", path);
        } else if sequences.len() == MOST_STOPS {
            notes.dropped(NoteEffect::Meaning, "too_many_stop_sequences", path);
        } else {
            sequences.push((**text).to_owned());
        }
    }
    (!sequences.is_empty()).then_some(sequences)
}

fn service_tier(settings: &Settings, notes: &mut Notes) -> Option<String> {
    let tier = settings.service_tier.as_deref()?;
    if TIERS.contains(&tier) {
        return Some(tier.to_owned());
    }
    let path = "settings.service_tier";
    notes.dropped(NoteEffect::Cost, "service_tier_unknown", path);
    None
}

fn format(
    settings: &Settings,
    profile: &Profile,
    has_tools: bool,
    notes: &mut Notes,
) -> (Option<String>, Option<Value>) {
    let path = "settings.response_format";
    if settings.response_format == ResponseFormat::Text {
        return (None, None);
    }
    if has_tools && !profile.json_with_tools {
        notes.dropped(NoteEffect::Meaning, "json_beside_tools", path);
        return (None, None);
    }
    let json = Some("application/json".to_owned());
    let ResponseFormat::JsonSchema {
        description,
        name,
        schema,
        strict,
    } = &settings.response_format
    else {
        return (json, None);
    };
    let (schema, changes) = restrict(schema);
    notes.schema_changes(format_args!("{path}.schema"), changes);
    // Only the schema is sent; it is always enforced.
    for (field, lost, effect) in [
        ("description", description.is_some(), NoteEffect::Quality),
        ("name", **name != *FORMAT_NAME, NoteEffect::Cosmetic),
        ("strict", strict.is_some(), NoteEffect::Cosmetic),
    ] {
        if lost {
            let path = format_args!("{path}.{field}");
            notes.dropped(effect, "format_field_not_sent", path);
        }
    }
    (json, Some(schema))
}

fn thinking(settings: &Settings, profile: &Profile, notes: &mut Notes) -> wire::ThinkingConfig {
    let mut config = wire::ThinkingConfig::default();
    match profile.thinking {
        ThinkingControl::Budget { can_be_off } => {
            by_budget(settings, can_be_off, &mut config, notes);
        }
        ThinkingControl::Level { minimal } => by_level(settings, minimal, &mut config, notes),
        ThinkingControl::None => {
            for (name, is_set, effect) in [
                ("effort", settings.effort.is_some(), NoteEffect::Quality),
                ("thinking", settings.thinking.is_some(), NoteEffect::Quality),
                (
                    "thinking_shown",
                    settings.thinking_shown.is_some(),
                    NoteEffect::Cosmetic,
                ),
            ] {
                if is_set {
                    let path = format_args!("settings.{name}");
                    notes.dropped(effect, "thinking_not_supported", path);
                }
            }
            return config;
        }
    }
    config.include_thoughts = settings.thinking_shown;
    config
}

/// A level stands for an effort. A level and a budget exclude each other, and the effort is the more recent control.
fn by_level(
    settings: &Settings,
    minimal: bool,
    config: &mut wire::ThinkingConfig,
    notes: &mut Notes,
) {
    let path = "settings.effort";
    let least = if minimal { "MINIMAL" } else { "LOW" };
    if let Some(effort) = settings.effort {
        let level = match effort {
            Effort::None => {
                notes.approximated(NoteEffect::Cost, "effort_raised", path);
                least
            }
            Effort::Minimal => {
                if !minimal {
                    notes.approximated(NoteEffect::Cost, "effort_raised", path);
                }
                least
            }
            Effort::Low => "LOW",
            Effort::Medium => "MEDIUM",
            Effort::High => "HIGH",
            Effort::ExtraHigh => "XHIGH",
            Effort::Max => {
                notes.approximated(NoteEffect::Quality, "effort_lowered", path);
                "XHIGH"
            }
        };
        config.thinking_level = Some(level.to_owned());
        if settings.thinking.is_some() {
            let path = "settings.thinking";
            notes.dropped(NoteEffect::Quality, "thinking_by_effort", path);
        }
        return;
    }
    match settings.thinking {
        None => {}
        Some(ThinkingMode::Adaptive) => config.thinking_budget = Some(-1),
        Some(ThinkingMode::Budget(budget)) => config.thinking_budget = budgeted(budget, notes),
        Some(ThinkingMode::Off) => {
            for path in ["settings.thinking", path] {
                notes.approximated(NoteEffect::Cost, "thinking_always_on", path);
            }
            config.thinking_level = Some(least.to_owned());
        }
    }
}

/// Without levels, a budget stands for an effort, unless there is one.
fn by_budget(
    settings: &Settings,
    can_be_off: bool,
    config: &mut wire::ThinkingConfig,
    notes: &mut Notes,
) {
    let paths = ["settings.effort", "settings.thinking"];
    if settings.thinking.is_some() && settings.effort.is_some() {
        notes.dropped(NoteEffect::Quality, "effort_not_supported", paths[0]);
    }
    match (settings.thinking, settings.effort) {
        (Some(ThinkingMode::Adaptive), _) => config.thinking_budget = Some(-1),
        (Some(ThinkingMode::Budget(budget)), _) => {
            config.thinking_budget = budgeted(budget, notes);
        }
        (Some(ThinkingMode::Off), _) if can_be_off => config.thinking_budget = Some(0),
        (Some(ThinkingMode::Off), _) => {
            notes.dropped(NoteEffect::Cost, "thinking_always_on", paths[1]);
        }
        (None, None) => {}
        (None, Some(Effort::None)) if !can_be_off => {
            notes.dropped(NoteEffect::Cost, "thinking_always_on", paths[0]);
        }
        (None, Some(effort)) => {
            for path in paths {
                notes.approximated(NoteEffect::Quality, "effort_by_budget", path);
            }
            let known = BUDGETS.iter().find(|(known, _)| *known == effort);
            config.thinking_budget = Some(known.map_or(0, |(_, budget)| *budget));
        }
    }
}

/// A budget in tokens; 0 would switch the thinking off.
fn budgeted(budget: u32, notes: &mut Notes) -> Option<i64> {
    let sent = budget.clamp(1, i32::MAX.unsigned_abs());
    if sent != budget {
        let path = "settings.thinking";
        notes.approximated(NoteEffect::Cosmetic, "thinking_budget_changed", path);
    }
    Some(sent.into())
}
