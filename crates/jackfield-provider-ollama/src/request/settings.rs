//! Maps the settings of a model call.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::schema::{Changes, sound};
use jackfield_dialect_kit::settings::drop_all_but;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use serde_json::{Map, Value, json};

use crate::config::Defaults;

/// The name of a response format, as the wire format has none.
const FORMAT_NAME: &str = "response";

/// What begins the words for a format.
const ASKED: &str =
    "Give your last answer, when you call no more tools, as nothing but a JSON object";

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
    "stop",
    "temperature",
    "thinking",
    "top_k",
    "top_p",
];

/// Options that are mapped from settings.
pub(super) const OURS: [&str; 8] = [
    "frequency_penalty",
    "num_predict",
    "presence_penalty",
    "seed",
    "stop",
    "temperature",
    "top_k",
    "top_p",
];

#[derive(Debug)]
pub(super) struct MappedSettings {
    /// What the system prompt has to ask for, as it is no setting beside tools.
    pub(super) asked: Option<String>,
    pub(super) format: Option<Value>,
    pub(super) options: Map<String, Value>,
    pub(super) think: Option<Value>,
}

pub(super) fn to_wire(
    settings: &Settings,
    defaults: &Defaults,
    has_tools: bool,
    notes: &mut Notes,
) -> MappedSettings {
    drop_all_but(TAKEN, settings, notes);
    let number = |value: Option<f64>| value.filter(|value| value.is_finite()).map(Value::from);
    let fields = [
        ("num_ctx", defaults.num_ctx.map(Value::from)),
        ("num_predict", most_tokens(settings, notes)),
        ("temperature", number(settings.temperature)),
        ("top_k", settings.top_k.map(Value::from)),
        ("top_p", number(settings.top_p)),
        ("presence_penalty", number(settings.presence_penalty)),
        ("frequency_penalty", number(settings.frequency_penalty)),
        ("seed", seed(settings, notes)),
        ("stop", stop_sequences(settings, notes)),
    ];
    let set = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let (format, asked) = format(settings, has_tools, notes);
    MappedSettings {
        asked,
        format,
        options: set.collect(),
        think: think(settings, notes),
    }
}

/// Signed 32-bit numbers for the program that runs the model.
fn most_tokens(settings: &Settings, notes: &mut Notes) -> Option<Value> {
    let most = settings.max_output_tokens?;
    let limit = i32::MAX.unsigned_abs();
    if most > limit {
        let path = "settings.max_output_tokens";
        notes.approximated(NoteEffect::Cosmetic, "max_tokens_cut", path);
    }
    Some(most.min(limit).into())
}

fn seed(settings: &Settings, notes: &mut Notes) -> Option<Value> {
    let seed = settings.seed?;
    if i32::try_from(seed).is_ok() {
        return Some(seed.into());
    }
    notes.dropped(NoteEffect::Quality, "seed_too_large", "settings.seed");
    None
}

fn stop_sequences(settings: &Settings, notes: &mut Notes) -> Option<Value> {
    let mut sequences = Vec::new();
    for (n, text) in settings.stop.iter().enumerate() {
        if text.is_empty() {
            let path = format_args!("settings.stop[{n}]");
            notes.dropped(NoteEffect::Meaning, "blank_stop_sequence", path);
        } else {
            sequences.push(json!(**text));
        }
    }
    (!sequences.is_empty()).then_some(Value::Array(sequences))
}

/// The format of the answer, and what is asked for in words instead: a reply that is held to a format cannot call a
/// tool.
fn format(
    settings: &Settings,
    has_tools: bool,
    notes: &mut Notes,
) -> (Option<Value>, Option<String>) {
    let path = "settings.response_format";
    let asked = match &settings.response_format {
        ResponseFormat::Text => return (None, None),
        ResponseFormat::JsonObject => format!("{ASKED}."),
        ResponseFormat::JsonSchema {
            description,
            schema,
            ..
        } => {
            let description = description.as_deref().map(|text| format!(" ({text})"));
            let description = description.unwrap_or_default();
            format!("{ASKED}{description} that matches this JSON schema: {schema}")
        }
    };
    if has_tools {
        notes.approximated(NoteEffect::Meaning, "format_in_words", path);
        return (None, Some(asked));
    }
    let ResponseFormat::JsonSchema {
        description,
        name,
        schema,
        strict,
    } = &settings.response_format
    else {
        return (Some(json!("json")), None);
    };
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
    let mut changes = Changes::default();
    let mut sent = sound(schema, &mut changes).into_owned();
    if !sent.is_object() {
        changes.push(NoteEffect::Quality, "schema_made_object", "");
        sent = json!({});
    }
    notes.schema_changes(format_args!("{path}.schema"), changes.into_vec());
    (Some(sent), None)
}

/// A model that can think does, unless a request says not to; for one that cannot, a level is an error.
fn think(settings: &Settings, notes: &mut Notes) -> Option<Value> {
    let (effort_path, thinking_path) = ("settings.effort", "settings.thinking");
    let Some(effort) = settings.effort else {
        return match settings.thinking? {
            ThinkingMode::Adaptive => {
                notes.dropped(NoteEffect::Cosmetic, "thinking_by_default", thinking_path);
                None
            }
            ThinkingMode::Budget(_) => {
                notes.dropped(
                    NoteEffect::Quality,
                    "thinking_budget_not_sent",
                    thinking_path,
                );
                None
            }
            ThinkingMode::Off => Some(json!(false)),
        };
    };
    let changed = match effort {
        Effort::ExtraHigh => Some((NoteEffect::Quality, "effort_lowered")),
        Effort::Minimal => Some((NoteEffect::Cost, "effort_raised")),
        Effort::None => Some((NoteEffect::Cosmetic, "thinking_off")),
        Effort::High | Effort::Low | Effort::Max | Effort::Medium => None,
    };
    if let Some((effect, code)) = changed {
        notes.approximated(effect, code, effort_path);
    }
    if effort == Effort::None {
        if settings.thinking != Some(ThinkingMode::Off) {
            notes.approximated(NoteEffect::Cosmetic, "thinking_off", thinking_path);
        }
        return Some(json!(false));
    }
    if settings.thinking.is_some() {
        // The effort is the more recent control.
        notes.dropped(NoteEffect::Quality, "thinking_by_effort", thinking_path);
    }
    Some(json!(match effort {
        Effort::Low | Effort::Minimal | Effort::None => "low",
        Effort::Medium => "medium",
        Effort::ExtraHigh | Effort::High => "high",
        Effort::Max => "max",
    }))
}
