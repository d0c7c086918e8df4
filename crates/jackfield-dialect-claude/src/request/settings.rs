//! Maps the settings of a model call.

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use serde_json::Map;

use super::DEFAULT_MAX_TOKENS;
use super::schema;
use crate::options::Profile;
use crate::wire;

/// The smallest thinking budget in tokens (Claude Messages API).
const MIN_BUDGET: u64 = 1024;

/// The name of a response format, as the wire format has none.
pub(crate) const FORMAT_NAME: &str = "response";

/// The fields of the body for settings.
#[derive(Debug)]
pub(super) struct MappedSettings {
    pub(super) max_tokens: u64,
    pub(super) metadata: Option<wire::Metadata>,
    pub(super) output_config: Option<wire::OutputConfig>,
    pub(super) service_tier: Option<String>,
    pub(super) stop_sequences: Option<Vec<String>>,
    pub(super) temperature: Option<f64>,
    pub(super) thinking: Option<wire::Thinking>,
    pub(super) top_k: Option<u32>,
    pub(super) top_p: Option<f64>,
}

pub(super) fn to_wire(settings: &Settings, profile: &Profile, notes: &mut Notes) -> MappedSettings {
    drop_unknown(settings, notes);
    let max_tokens = max_tokens(settings, profile, notes);
    let thinking = thinking(settings, profile, max_tokens, notes);
    let thinks = thinking
        .as_ref()
        .is_some_and(|thinking| thinking.kind != "disabled");
    let effort = effort(settings, profile, notes);
    let format = format(settings, profile, notes);
    let samples = profile.sampling && !thinks;
    if !samples {
        for (path, set) in [
            ("settings.temperature", settings.temperature.is_some()),
            ("settings.top_k", settings.top_k.is_some()),
            ("settings.top_p", settings.top_p.is_some()),
        ] {
            if set {
                notes.dropped(NoteEffect::Quality, "sampling_not_supported", path);
            }
        }
    }
    let output_config = wire::OutputConfig {
        effort,
        format,
        extra: Map::new(),
    };
    MappedSettings {
        max_tokens,
        metadata: settings.end_user.as_ref().map(|name| wire::Metadata {
            user_id: Some((**name).to_owned()),
            extra: Map::new(),
        }),
        output_config: (output_config != wire::OutputConfig::default()).then_some(output_config),
        service_tier: service_tier(settings, notes),
        stop_sequences: Some(notes.stop_sequences(settings)).filter(|texts| !texts.is_empty()),
        temperature: samples
            .then(|| sampled(settings.temperature, "temperature", notes))
            .flatten(),
        thinking,
        top_k: settings.top_k.filter(|_| samples),
        top_p: samples
            .then(|| sampled(top_p(settings, profile, notes), "top_p", notes))
            .flatten(),
    }
}

/// Notes the settings that Claude cannot express.
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
        ("settings.verbosity", settings.verbosity.is_some()),
    ] {
        if set {
            notes.dropped(NoteEffect::Quality, "setting_not_supported", path);
        }
    }
}

fn max_tokens(settings: &Settings, profile: &Profile, notes: &mut Notes) -> u64 {
    if let Some(max) = settings.max_output_tokens {
        return max.into();
    }
    notes.approximated(
        NoteEffect::Cosmetic,
        "max_tokens_defaulted",
        "settings.max_output_tokens",
    );
    default_max_tokens(settings, profile)
}

/// The limit of output tokens for a request that sets none.
#[must_use]
pub fn default_max_tokens(settings: &Settings, profile: &Profile) -> u64 {
    match settings.thinking {
        // The budget counts against the limit, so the answer needs extra room.
        Some(ThinkingMode::Budget(budget)) if profile.thinking_budget => {
            DEFAULT_MAX_TOKENS + u64::from(budget)
        }
        Some(ThinkingMode::Adaptive | ThinkingMode::Budget(_) | ThinkingMode::Off) | None => {
            DEFAULT_MAX_TOKENS
        }
    }
}

/// The setting `top_p`; `None` if the model takes it only without a temperature, which is noted.
pub fn top_p(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<f64> {
    let top_p = settings.top_p?;
    if settings.temperature.is_some() && !profile.sampling_pair {
        let path = "settings.top_p";
        notes.dropped(NoteEffect::Quality, "top_p_beside_temperature", path);
        return None;
    }
    Some(top_p)
}

/// A sampling parameter, clamped to Claude's range of 0 to 1.
fn sampled(value: Option<f64>, setting: &str, notes: &mut Notes) -> Option<f64> {
    let value = value?;
    let sent = value.clamp(0.0, 1.0);
    if sent != value {
        let path = format_args!("settings.{setting}");
        notes.approximated(NoteEffect::Quality, "sampling_cut", path);
    }
    Some(sent).filter(|sent| sent.is_finite())
}

/// The level of effort in Claude's words; `None` if the model takes none, which is noted.
pub fn effort(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<String> {
    let effort = settings.effort?;
    let path = "settings.effort";
    if effort == Effort::None && profile.thinking_off {
        // Expressed by `thinking` if that is not set otherwise; see there.
        notes.approximated(NoteEffect::Cosmetic, "effort_none", path);
        return None;
    }
    if !profile.effort {
        notes.dropped(NoteEffect::Quality, "effort_not_supported", path);
        return None;
    }
    let word = match effort {
        Effort::None | Effort::Minimal => {
            notes.approximated(NoteEffect::Quality, "effort_raised", path);
            "low"
        }
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::ExtraHigh => "xhigh",
        Effort::Max => "max",
    };
    Some(word.to_owned())
}

/// How a Claude model thinks, wherever it runs; `None` leaves it to the model.
pub fn thinking(
    settings: &Settings,
    profile: &Profile,
    max_tokens: u64,
    notes: &mut Notes,
) -> Option<wire::Thinking> {
    let path = "settings.thinking";
    let quiet = settings.effort == Some(Effort::None) && profile.thinking_off;
    let mut thinking = match settings.thinking {
        None if quiet => {
            notes.approximated(NoteEffect::Cosmetic, "effort_none", path);
            Some(kind("disabled"))
        }
        // If thinking is always on, this only decides whether it is shown.
        None if settings.thinking_shown.is_some() && !profile.thinking_off => {
            notes.approximated(NoteEffect::Cosmetic, "thinking_always_on", path);
            Some(kind("adaptive"))
        }
        None => None,
        Some(ThinkingMode::Adaptive) => adaptive(profile, max_tokens, notes),
        Some(ThinkingMode::Budget(budget)) => with_budget(budget, profile, max_tokens, notes),
        Some(ThinkingMode::Off) if profile.thinking_off => Some(kind("disabled")),
        Some(ThinkingMode::Off) => {
            notes.dropped(NoteEffect::Cost, "thinking_always_on", path);
            None
        }
    };
    let Some(shown) = settings.thinking_shown else {
        return thinking;
    };
    match &mut thinking {
        Some(thinking) if thinking.kind != "disabled" => {
            let display = if shown { "summarized" } else { "omitted" };
            thinking.display = Some(display.to_owned());
        }
        Some(_) | None => {
            let path = "settings.thinking_shown";
            notes.dropped(NoteEffect::Cosmetic, "thinking_display_not_sent", path);
        }
    }
    thinking
}

fn adaptive(profile: &Profile, max_tokens: u64, notes: &mut Notes) -> Option<wire::Thinking> {
    let path = "settings.thinking";
    if profile.adaptive_thinking {
        return Some(kind("adaptive"));
    }
    if profile.thinking_budget && max_tokens > MIN_BUDGET {
        notes.approximated(NoteEffect::Quality, "thinking_by_budget", path);
        return Some(budget((max_tokens / 2).max(MIN_BUDGET)));
    }
    notes.dropped(NoteEffect::Quality, "thinking_not_supported", path);
    None
}

fn with_budget(
    requested: u32,
    profile: &Profile,
    max_tokens: u64,
    notes: &mut Notes,
) -> Option<wire::Thinking> {
    let path = "settings.thinking";
    let requested = u64::from(requested);
    if profile.thinking_budget && max_tokens > MIN_BUDGET {
        let fitting = requested.clamp(MIN_BUDGET, max_tokens - 1);
        if fitting != requested {
            notes.approximated(NoteEffect::Quality, "thinking_budget_changed", path);
        }
        return Some(budget(fitting));
    }
    if profile.adaptive_thinking {
        notes.approximated(NoteEffect::Quality, "thinking_without_budget", path);
        return Some(kind("adaptive"));
    }
    notes.dropped(NoteEffect::Quality, "thinking_not_supported", path);
    None
}

fn kind(kind: &str) -> wire::Thinking {
    wire::Thinking {
        kind: kind.to_owned(),
        budget_tokens: None,
        display: None,
        extra: Map::new(),
    }
}

fn budget(tokens: u64) -> wire::Thinking {
    wire::Thinking {
        budget_tokens: Some(tokens),
        ..kind("enabled")
    }
}

fn format(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<wire::OutputFormat> {
    let path = "settings.response_format";
    let (description, name, schema, strict) = match &settings.response_format {
        ResponseFormat::Text => return None,
        ResponseFormat::JsonObject => {
            notes.dropped(NoteEffect::Meaning, "json_object_not_supported", path);
            return None;
        }
        ResponseFormat::JsonSchema {
            description,
            name,
            schema,
            strict,
        } => (description, name, schema, strict),
    };
    let restricted = schema::restrict(schema).filter(|_| profile.structured_output);
    let Some((schema, changes)) = restricted else {
        notes.dropped(NoteEffect::Meaning, "schema_not_enforceable", path);
        return None;
    };
    notes.schema_changes(format_args!("{path}.schema"), changes);
    // Only the schema is sent; it is always enforced.
    for (field, lost, effect) in [
        ("description", description.is_some(), NoteEffect::Quality),
        ("name", **name != *FORMAT_NAME, NoteEffect::Cosmetic),
        ("strict", strict.is_some(), NoteEffect::Cosmetic),
    ] {
        if lost {
            notes.dropped(
                effect,
                "format_field_not_sent",
                format_args!("{path}.{field}"),
            );
        }
    }
    Some(wire::OutputFormat {
        kind: "json_schema".to_owned(),
        schema,
    })
}

fn service_tier(settings: &Settings, notes: &mut Notes) -> Option<String> {
    let tier = settings.service_tier.as_deref()?;
    if matches!(tier, "auto" | "standard_only") {
        return Some(tier.to_owned());
    }
    notes.dropped(
        NoteEffect::Cost,
        "service_tier_unknown",
        "settings.service_tier",
    );
    None
}
