//! Media in words, for places that take none.

use jackfield_domain::media::{Audio, MediaSource};

/// A sound in words: what is said in it, if that is known.
#[must_use]
pub fn audio(audio: &Audio) -> String {
    match audio.transcript.as_deref().map(str::trim) {
        Some(transcript) if !transcript.is_empty() => format!("[audio: {transcript}]"),
        Some(_) | None => source("audio", &audio.source),
    }
}

/// A medium in words, without its bytes; `what` it is, such as `image`.
#[must_use]
pub fn source(what: &str, source: &MediaSource) -> String {
    match source {
        MediaSource::Base64 { media_type, .. } => format!("[{what} of type {media_type}]"),
        MediaSource::File { .. } => format!("[{what} in a file]"),
        MediaSource::Text(text) => format!("[{what}: {text}]"),
        MediaSource::Url(url) => format!("[{what}: {url}]"),
    }
}
