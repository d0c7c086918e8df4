//! Results of tools.

use std::fmt::{Arguments, Display};

use jackfield_domain::media::MediaSource;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use serde_json::Value;

use crate::notes::Notes;
use crate::{json_text, media_text};

/// What a dialect makes of a medium in a result.
#[derive(Debug)]
pub enum Medium<P> {
    /// A part of the result.
    Part(P),
    /// A part of the message in which the user shows it; the result only describes it, which is noted.
    Shown,
    /// Its text; the dialect notes what that loses.
    Text(String),
    /// The result only describes it, which is noted.
    Unsupported,
}

/// The parts of a result, without its error: `text` makes one of a text, `medium` of a medium at this path.
///
/// Blank texts are left out, and the structured value is sent only if there is nothing else; both are noted.
pub fn parts<P>(
    notes: &mut Notes,
    at: impl Display,
    result: &ToolResult,
    text: impl Fn(String) -> P,
    mut medium: impl FnMut(&mut Notes, Arguments<'_>, &OutcomePart) -> Medium<P>,
) -> Vec<P> {
    let mut parts = Vec::with_capacity(result.content.len());
    for (k, part) in result.content.iter().enumerate() {
        let path = format_args!("{at}.result.content[{k}]");
        if written(part).is_some_and(|words| notes.is_blank(path, words)) {
            continue;
        }
        if let OutcomePart::Text(words) = part {
            parts.push(text((**words).to_owned()));
            continue;
        }
        let (effect, code) = match medium(notes, path, part) {
            Medium::Part(part) => {
                parts.push(part);
                continue;
            }
            Medium::Text(words) => {
                parts.push(text(words));
                continue;
            }
            Medium::Shown => (NoteEffect::Quality, "media_shown_by_user"),
            Medium::Unsupported => (NoteEffect::Meaning, "media_as_text"),
        };
        notes.approximated(effect, code, path);
        parts.push(text(described(part)));
    }
    let Some(json) = &result.structured else {
        return parts;
    };
    if parts.is_empty() {
        let path = format_args!("{at}.result");
        notes.approximated(NoteEffect::Cosmetic, "structured_as_text", path);
        parts.push(text(json.to_string()));
    } else {
        // Tools usually return the same value as text; otherwise the model does not get it.
        let effect = if has_text(result, json) {
            NoteEffect::Cosmetic
        } else {
            NoteEffect::Quality
        };
        let path = format_args!("{at}.result.structured");
        notes.dropped(effect, "structured_not_sent", path);
    }
    parts
}

/// The text of a text, or of a document that is one.
fn written(part: &OutcomePart) -> Option<&str> {
    match part {
        OutcomePart::Text(text) => Some(text),
        OutcomePart::Document(document) => match &document.source {
            MediaSource::Text(text) => Some(text),
            MediaSource::Base64 { .. } | MediaSource::File { .. } | MediaSource::Url(_) => None,
        },
        OutcomePart::Audio(_) | OutcomePart::Image(_) => None,
    }
}

fn described(part: &OutcomePart) -> String {
    match part {
        OutcomePart::Audio(audio) => media_text::audio(audio),
        OutcomePart::Document(document) => media_text::source("document", &document.source),
        OutcomePart::Image(image) => media_text::source("image", &image.source),
        OutcomePart::Text(text) => (**text).to_owned(),
    }
}

/// Whether a text part of the result equals this JSON value.
fn has_text(result: &ToolResult, json: &Value) -> bool {
    let mut texts = result.content.iter().filter_map(OutcomePart::as_text);
    texts.any(|text| json_text::matches(text, json))
}
