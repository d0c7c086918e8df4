//! Settings, and details of images, that both dialects map alike.

use jackfield_dialect_kit::incoming::Invalid;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::media::ImageDetail;
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

/// The vendor's word for a detail.
pub(crate) const fn detail(detail: ImageDetail) -> &'static str {
    match detail {
        ImageDetail::Auto => "auto",
        ImageDetail::High => "high",
        ImageDetail::Low => "low",
        ImageDetail::Original => "original",
    }
}

/// The detail of a client's word for an image.
///
/// # Errors
///
/// [`Invalid`] at the `detail` below this path if there is no such detail.
pub(crate) fn detail_of(word: &str, path: &str) -> Result<ImageDetail, Invalid> {
    use ImageDetail::{Auto, High, Low, Original};
    let mut details = [Auto, High, Low, Original].into_iter();
    let found = details.find(|one| detail(*one) == word);
    found.ok_or_else(|| Invalid::new(format!("{path}.detail"), format!("`{word}` is no detail")))
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
    let mut efforts = Effort::NAMES.iter().map(|(_, level)| *level);
    let found = efforts.find(|level| effort(*level) == word);
    found.ok_or_else(|| Invalid::new(path, format!("`{word}` is no effort")))
}

/// The verbosity of a client's word.
///
/// # Errors
///
/// [`Invalid`] at this path if there is no such verbosity.
pub(crate) fn verbosity_of(word: &str, path: &str) -> Result<Verbosity, Invalid> {
    let mut verbosities = Verbosity::NAMES.iter().map(|(_, length)| *length);
    let found = verbosities.find(|length| verbosity(*length) == word);
    found.ok_or_else(|| Invalid::new(path, format!("`{word}` is no verbosity")))
}

/// The vendor's word for a verbosity.
pub(crate) const fn verbosity(verbosity: Verbosity) -> &'static str {
    match verbosity {
        Verbosity::High => "high",
        Verbosity::Low => "low",
        Verbosity::Medium => "medium",
    }
}
