//! Maps the settings of a model call.

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};

use crate::chat::wire;
use crate::profile::{EndUser, MaxTokens, Profile, StructuredOutput};
use crate::settings::{answer, effort as effort_word, sampled, verbosity};

/// The most stop sequences that the vendor takes.
const MAX_STOPS: usize = 4;

/// Sets every setting that has a field of its own.
pub(super) fn apply(
    body: &mut wire::Request,
    settings: &Settings,
    profile: &Profile,
    notes: &mut Notes,
) {
    let (samples, penalizes) = (profile.sampling, profile.penalties);
    let temperature = settings.temperature;
    body.temperature = sampled(
        temperature,
        samples,
        (0.0, 2.0),
        "settings.temperature",
        notes,
    );
    body.top_p = sampled(settings.top_p, samples, (0.0, 1.0), "settings.top_p", notes);
    let (frequency, presence) = (settings.frequency_penalty, settings.presence_penalty);
    let path = "settings.frequency_penalty";
    body.frequency_penalty = sampled(frequency, penalizes, (-2.0, 2.0), path, notes);
    let path = "settings.presence_penalty";
    body.presence_penalty = sampled(presence, penalizes, (-2.0, 2.0), path, notes);
    body.top_k = if_supported(settings.top_k, profile.top_k, "settings.top_k", notes);
    body.seed = if_supported(settings.seed, profile.seed, "settings.seed", notes);
    let verbosity = settings.verbosity.map(verbosity).map(str::to_owned);
    body.verbosity = if_supported(verbosity, profile.verbosity, "settings.verbosity", notes);
    let tier = settings.service_tier.as_deref();
    if !profile.service_tier || tier.is_none_or(|tier| TIERS.contains(&tier)) {
        let tier = tier.map(str::to_owned);
        body.service_tier =
            if_supported(tier, profile.service_tier, "settings.service_tier", notes);
    } else {
        notes.dropped(
            NoteEffect::Cost,
            "service_tier_unknown",
            "settings.service_tier",
        );
    }
    body.stop = stop(settings, profile, notes);
    let limit = settings.max_output_tokens.map(u64::from);
    match profile.max_tokens {
        MaxTokens::MaxCompletionTokens => body.max_completion_tokens = limit,
        MaxTokens::MaxTokens => body.max_tokens = limit,
    }
    let user = settings.end_user.as_deref().map(str::to_owned);
    match profile.end_user {
        EndUser::None => {
            if_supported(user, false, "settings.end_user", notes);
        }
        EndUser::SafetyIdentifier => body.safety_identifier = user,
        EndUser::User => body.user = user,
    }
}

/// The vendor's service tiers on this endpoint (`openai` 3.54.0, 2026-11).
const TIERS: [&str; 6] = ["auto", "default", "fast", "flex", "priority", "scale"];

fn if_supported<T>(
    value: Option<T>,
    is_supported: bool,
    path: &str,
    notes: &mut Notes,
) -> Option<T> {
    if value.is_some() && !is_supported {
        notes.dropped(NoteEffect::Quality, "setting_not_supported", path);
        return None;
    }
    value
}

fn stop(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<wire::Stop> {
    let mut texts = Vec::new();
    for (n, text) in settings.stop.iter().enumerate() {
        let path = format_args!("settings.stop[{n}]");
        let code = if !profile.stop {
            "setting_not_supported"
        } else if text.is_empty() {
            "blank_stop_sequence"
        } else if texts.len() == MAX_STOPS {
            "too_many_stop_sequences"
        } else {
            texts.push((**text).to_owned());
            continue;
        };
        notes.dropped(NoteEffect::Meaning, code, path);
    }
    (!texts.is_empty()).then_some(wire::Stop::Several(texts))
}

/// Sets the effort: `thinking` has no field of its own and is expressed by the effort as far as possible.
pub(super) fn effort(
    settings: &Settings,
    profile: &Profile,
    tools: bool,
    notes: &mut Notes,
) -> Option<String> {
    let path = "settings.effort";
    if settings.thinking_shown.is_some() {
        let path = "settings.thinking_shown";
        notes.dropped(NoteEffect::Cosmetic, "thinking_display_not_sent", path);
    }
    let requested = thinking(settings, profile, notes);
    if profile.thinking_switch && requested == Some(Effort::None) {
        // The effort's field has a name of its own here, which readers see as an extension.
        for (is_set, path) in [
            (settings.effort.is_some(), path),
            (true, "settings.extensions"),
        ] {
            if is_set {
                notes.approximated(NoteEffect::Cosmetic, "thinking_by_field", path);
            }
        }
        return Some(effort_word(Effort::None).to_owned());
    }
    if tools && profile.tools_without_effort {
        if requested != Some(Effort::None) {
            notes.approximated(NoteEffect::Quality, "effort_not_with_tools", path);
        }
        return Some(effort_word(Effort::None).to_owned());
    }
    let requested = requested?;
    let Some(sent) = nearest(requested, profile.chat_efforts()) else {
        if settings.effort.is_some() {
            notes.dropped(NoteEffect::Quality, "effort_not_supported", path);
        }
        return None;
    };
    if sent != requested {
        notes.approximated(NoteEffect::Quality, "effort_changed", path);
    }
    Some(effort_word(sent).to_owned())
}

/// The requested effort, combined with whether thinking is on or off.
fn thinking(settings: &Settings, profile: &Profile, notes: &mut Notes) -> Option<Effort> {
    let path = "settings.thinking";
    match settings.thinking {
        None => {}
        // The default of models that think at all.
        Some(ThinkingMode::Adaptive) => {
            notes.dropped(NoteEffect::Cosmetic, "thinking_not_sent", path);
        }
        Some(ThinkingMode::Budget(_)) => {
            notes.dropped(NoteEffect::Quality, "thinking_not_sent", path);
        }
        Some(ThinkingMode::Off) if profile.thinking_switch => {
            notes.approximated(NoteEffect::Cosmetic, "thinking_by_field", path);
            return Some(Effort::None);
        }
        Some(ThinkingMode::Off) if profile.efforts.contains(&Effort::None) => {
            notes.approximated(NoteEffect::Cosmetic, "thinking_by_effort", path);
            if settings.effort != Some(Effort::None) {
                let path = "settings.effort";
                notes.approximated(NoteEffect::Cosmetic, "thinking_by_effort", path);
            }
            return Some(Effort::None);
        }
        Some(ThinkingMode::Off) => {
            notes.dropped(NoteEffect::Cost, "thinking_not_sent", path);
        }
    }
    settings.effort
}

/// The nearest supported level, the higher one of two equally near; `None` only matches itself.
fn nearest(requested: Effort, levels: impl Iterator<Item = Effort>) -> Option<Effort> {
    let distance = |level: &Effort| {
        let (level, wanted) = (*level as u8, requested as u8);
        (level.abs_diff(wanted), level < wanted)
    };
    levels
        .filter(|level| *level != Effort::None || requested == Effort::None)
        .min_by_key(distance)
}

pub(super) fn response_format(
    settings: &Settings,
    profile: &Profile,
    notes: &mut Notes,
) -> Option<wire::ResponseFormat> {
    let path = "settings.response_format";
    let object = wire::ResponseFormat::JsonObject { schema: None };
    let (description, name, schema, strict) = match &settings.response_format {
        ResponseFormat::Text => return None,
        ResponseFormat::JsonObject => match profile.structured_output {
            StructuredOutput::JsonObject | StructuredOutput::Schema => return Some(object),
            StructuredOutput::None => {
                notes.dropped(NoteEffect::Meaning, "json_object_not_supported", path);
                return None;
            }
        },
        ResponseFormat::JsonSchema {
            description,
            name,
            schema,
            strict,
        } => (description, name, schema, *strict),
    };
    match profile.structured_output {
        StructuredOutput::Schema => {}
        StructuredOutput::JsonObject => {
            notes.approximated(NoteEffect::Meaning, "schema_as_json_object", path);
            return Some(object);
        }
        StructuredOutput::None => {
            notes.dropped(NoteEffect::Meaning, "schema_not_enforceable", path);
            return None;
        }
    }
    let (schema, strict) = answer(schema, strict, notes);
    Some(wire::ResponseFormat::JsonSchema {
        json_schema: wire::JsonSchema {
            name: (**name).to_owned(),
            description: description.as_deref().map(str::to_owned),
            schema: Some(schema),
            strict,
        },
    })
}
