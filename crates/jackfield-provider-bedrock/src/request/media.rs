//! Maps images and documents.

use std::collections::HashSet;
use std::fmt::Display;

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::media::{Document, Image, MediaSource};
use jackfield_domain::note::NoteEffect;

use crate::profile::ModelProfile;
use crate::wire;

/// An image; `None` if Bedrock does not take it.
pub(super) fn image(image: &Image) -> Option<wire::ContentBlock> {
    let MediaSource::Base64 { media_type, data } = &image.source else {
        return None;
    };
    let format = format_of(media_type, &IMAGES).filter(|_| !data.is_empty())?;
    Some(wire::ContentBlock::Image(wire::Image {
        format,
        source: wire::Source::Bytes((**data).to_owned()),
    }))
}

/// Whether a document is a blank text, and therefore left out, which is noted.
pub(super) fn is_blank(document: &Document, at: impl Display, notes: &mut Notes) -> bool {
    matches!(&document.source, MediaSource::Text(text) if notes.is_blank(at, text))
}

/// A document; `None` if Bedrock does not take it. Only Claude takes a text as a document, and cites.
pub(super) fn document(
    document: &Document,
    at: impl Display,
    profile: &ModelProfile,
    names: &mut HashSet<String>,
    notes: &mut Notes,
) -> Option<wire::ContentBlock> {
    let is_claude = profile.claude.is_some();
    let (format, source) = match &document.source {
        MediaSource::Base64 { media_type, data } => {
            let format = format_of(media_type, &DOCUMENTS).filter(|_| !data.is_empty())?;
            (format, wire::Source::Bytes((**data).to_owned()))
        }
        MediaSource::Text(text) if is_claude => ("txt", wire::Source::Text((**text).to_owned())),
        MediaSource::Text(text) => {
            notes.approximated(NoteEffect::Cosmetic, "document_as_text", at);
            return Some(wire::ContentBlock::Text(media_text::document(
                document, text,
            )));
        }
        MediaSource::File { .. } | MediaSource::Url(_) => return None,
    };
    if !is_claude && (document.cite || document.context.is_some()) {
        notes.approximated(NoteEffect::Quality, "document_without_citations", &at);
    }
    let context = document.context.as_deref().filter(|_| is_claude);
    Some(wire::ContentBlock::Document(wire::Document {
        format,
        name: name(document.title.as_deref(), at, names, notes),
        source,
        context: context.map(str::to_owned),
        citations: (document.cite && is_claude).then_some(wire::Citations { enabled: true }),
    }))
}

/// The name of a document: its title as far as its characters are permitted, and no other document's.
fn name(
    title: Option<&str>,
    at: impl Display,
    names: &mut HashSet<String>,
    notes: &mut Notes,
) -> String {
    let mut plain = String::new();
    for c in title.unwrap_or_default().chars() {
        let c = match c {
            c if c.is_ascii_alphanumeric() || "-()[] ".contains(c) => c,
            c if c.is_whitespace() => ' ',
            _ => '-',
        };
        if !(c == ' ' && (plain.is_empty() || plain.ends_with(' '))) {
            plain.push(c);
        }
        if plain.len() == MAX_NAME {
            break;
        }
    }
    let plain = match plain.trim_end() {
        "" => UNTITLED,
        plain => plain,
    };
    let mut name = plain.to_owned();
    let mut number = 2_u32;
    while names.contains(&name) {
        name = format!("{plain} {number}");
        number = number.saturating_add(1);
    }
    names.insert(name.clone());
    if title.is_some_and(|title| title != name) {
        notes.approximated(NoteEffect::Cosmetic, "document_renamed", at);
    }
    name
}

fn format_of(media_type: &str, formats: &[(&str, &'static str)]) -> Option<&'static str> {
    let found = formats.iter().find(|(known, _)| *known == media_type);
    found.map(|(_, format)| *format)
}

/// The formats of documents, by their media types.
const DOCUMENTS: [(&str, &str); 9] = [
    ("application/msword", "doc"),
    ("application/pdf", "pdf"),
    ("application/vnd.ms-excel", "xls"),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx",
    ),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
];
/// The formats of images, by their media types.
const IMAGES: [(&str, &str); 4] = [
    ("image/gif", "gif"),
    ("image/jpeg", "jpeg"),
    ("image/png", "png"),
    ("image/webp", "webp"),
];
/// The longest part of a title in a name; the number behind it fits, too.
const MAX_NAME: usize = 180;
/// The name of a document without a title.
const UNTITLED: &str = "document";
