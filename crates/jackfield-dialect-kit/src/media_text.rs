//! Media as text, for places that accept no media.

use jackfield_domain::media::{Audio, Document, MediaSource};
use serde_json::{Map, Value};

/// Audio as text: its transcript, if known.
#[must_use]
pub fn audio(audio: &Audio) -> String {
    match audio.transcript.as_deref().map(str::trim) {
        Some(transcript) if !transcript.is_empty() => format!("[audio: {transcript}]"),
        Some(_) | None => source("audio", &audio.source),
    }
}

/// A plain-text document as text, after its title and its context.
#[must_use]
pub fn document(document: &Document, text: &str) -> String {
    let about = [document.title.as_deref(), document.context.as_deref()];
    let about: Vec<&str> = about.into_iter().flatten().collect();
    if about.is_empty() {
        return text.to_owned();
    }
    format!("[{}]\n{text}", about.join(": "))
}

/// A medium as text, without its bytes; `what` names its kind, such as `image`.
#[must_use]
pub fn source(what: &str, source: &MediaSource) -> String {
    match source {
        MediaSource::Base64 { media_type, .. } => format!("[{what} of type {media_type}]"),
        MediaSource::File { .. } => format!("[{what} in a file]"),
        MediaSource::Text(text) => format!("[{what}: {text}]"),
        MediaSource::Url(url) => format!("[{what}: {url}]"),
    }
}

/// An opaque block as text: the texts that it contains, one per line.
#[must_use]
pub fn opaque_block(fields: &Map<String, Value>) -> Option<String> {
    let mut texts = Vec::new();
    gather(fields, &mut texts);
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn gather<'v>(fields: &'v Map<String, Value>, texts: &mut Vec<&'v str>) {
    let is_text = fields.get("type").and_then(Value::as_str) == Some("text");
    for (key, value) in fields {
        match value {
            Value::String(text)
                if TEXT_FIELDS.contains(&key.as_str()) || is_text && key == "data" =>
            {
                texts.extend(Some(text.trim()).filter(|text| !text.is_empty()));
            }
            Value::Object(fields) if NESTED_FIELDS.contains(&key.as_str()) => gather(fields, texts),
            Value::Array(items) if NESTED_FIELDS.contains(&key.as_str()) => {
                items
                    .iter()
                    .filter_map(Value::as_object)
                    .for_each(|fields| gather(fields, texts));
            }
            Value::Array(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Number(_)
            | Value::Object(_)
            | Value::String(_) => {}
        }
    }
}

/// Fields that may contain text at a deeper level.
const NESTED_FIELDS: [&str; 4] = ["content", "parts", "source", "text"];
/// Fields that are text.
const TEXT_FIELDS: [&str; 6] = ["content", "context", "source", "text", "title", "url"];
