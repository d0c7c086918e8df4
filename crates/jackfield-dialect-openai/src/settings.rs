//! Settings that both dialects map alike.

use jackfield_dialect_kit::incoming::Invalid;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{Effort, Verbosity};
use serde_json::Value;

use crate::schema;

/// A sampling parameter, clamped to this range; `None` if the server takes none.
pub(crate) fn sampled(
    value: Option<f64>,
    is_supported: bool,
    (least, most): (f64, f64),
    path: &str,
    notes: &mut Notes,
) -> Option<f64> {
    let value = value?;
    if !is_supported || !value.is_finite() {
        notes.dropped(NoteEffect::Quality, "sampling_not_supported", path);
        return None;
    }
    let sent = value.clamp(least, most);
    if sent != value {
        notes.approximated(NoteEffect::Quality, "sampling_cut", path);
    }
    Some(sent)
}

/// The schema of an answer and its strictness: within the enforceable subset if it is strict and there is one.
pub(crate) fn answer(
    schema: &Value,
    strict: Option<bool>,
    notes: &mut Notes,
) -> (Value, Option<bool>) {
    let path = "settings.response_format";
    if strict != Some(true) {
        return (schema.clone(), strict);
    }
    if let Some((restricted, changes)) = schema::restrict(schema) {
        notes.schema_changes(format_args!("{path}.schema"), changes);
        return (restricted, strict);
    }
    let path = format_args!("{path}.strict");
    notes.approximated(NoteEffect::Quality, "schema_not_enforceable", path);
    (schema.clone(), Some(false))
}

/// The vendor's word for an effort.
pub(crate) const fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::ExtraHigh => "xhigh",
        Effort::Max => "max",
    }
}

/// The effort of a client's word.
///
/// # Errors
///
/// [`Invalid`] at this path if there is no such effort.
pub(crate) fn effort_of(word: &str, path: &str) -> Result<Effort, Invalid> {
    Ok(match word {
        "none" => Effort::None,
        "minimal" => Effort::Minimal,
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::ExtraHigh,
        "max" => Effort::Max,
        other => return Err(Invalid::new(path, format!("`{other}` is no effort"))),
    })
}

/// The verbosity of a client's word.
///
/// # Errors
///
/// [`Invalid`] at this path if there is no such verbosity.
pub(crate) fn verbosity_of(word: &str, path: &str) -> Result<Verbosity, Invalid> {
    Ok(match word {
        "high" => Verbosity::High,
        "low" => Verbosity::Low,
        "medium" => Verbosity::Medium,
        other => return Err(Invalid::new(path, format!("`{other}` is no verbosity"))),
    })
}

/// The vendor's word for a verbosity.
pub(crate) const fn verbosity(verbosity: Verbosity) -> &'static str {
    match verbosity {
        Verbosity::High => "high",
        Verbosity::Low => "low",
        Verbosity::Medium => "medium",
    }
}
