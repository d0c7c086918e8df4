//! Notes in a header: what of a request or its reply was lost or changed on the way.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderValue};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_engine::ToolboxProblem;
use serde_json::json;

/// Compact JSON of notes that fits into a header, the gravest first; none where nothing was lost.
///
/// What does not fit is counted by a last entry, `{"more":n}`. Beyond ASCII, characters are escaped.
pub(crate) fn header<'n>(notes: impl IntoIterator<Item = &'n Note>) -> Option<HeaderValue> {
    let mut notes: Vec<&Note> = notes.into_iter().collect();
    if notes.is_empty() {
        return None;
    }
    notes.sort_by_key(|note| std::cmp::Reverse(note.effect));
    let mut text = String::from("[");
    let all = notes.len();
    for (nth, note) in notes.into_iter().enumerate() {
        let entry = json!({
            "path": note.path,
            "kind": kind(note.kind),
            "effect": effect(note.effect),
            "code": note.code,
        });
        let entry = ascii(&entry.to_string());
        if text.len() + entry.len() > MOST {
            let _taken = write!(text, "{}{{\"more\":{}}}", comma(nth), all - nth);
            break;
        }
        text.push_str(comma(nth));
        text.push_str(&entry);
    }
    text.push(']');
    HeaderValue::try_from(text).ok()
}

/// Notes of the toolboxes that are wanting in this turn, or some of whose tools are; the log says why.
pub(crate) fn of_problems(problems: &[ToolboxProblem]) -> Vec<Note> {
    let mut toolboxes: Vec<&str> = problems.iter().map(|one| one.toolbox.as_str()).collect();
    toolboxes.sort_unstable();
    toolboxes.dedup();
    let notes = toolboxes.into_iter().map(|toolbox| {
        let (kind, path) = (NoteKind::Dropped, format!("tools.{toolbox}"));
        Note::new(kind, NoteEffect::Quality, "tools_missing", path)
    });
    notes.collect()
}

/// Puts notes into the head of an answer.
pub(crate) fn insert(headers: &mut HeaderMap, notes: Option<HeaderValue>) {
    if let Some(notes) = notes {
        headers.insert(HEADER, notes);
    }
}

const fn comma(nth: usize) -> &'static str {
    if nth == 0 { "" } else { "," }
}

/// JSON without a character beyond ASCII.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        // Of ASCII, a header takes no control characters, and JSON leaves one of them as it is.
        if c.is_ascii() && c != '\u{7f}' {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _taken = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

const fn effect(effect: NoteEffect) -> &'static str {
    match effect {
        NoteEffect::Cosmetic => "cosmetic",
        NoteEffect::Cost => "cost",
        NoteEffect::Meaning => "meaning",
        NoteEffect::Quality => "quality",
    }
}

const fn kind(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Approximated => "approximated",
        NoteKind::Carried => "carried",
        NoteKind::Dropped => "dropped",
        NoteKind::Refused => "refused",
    }
}

/// The header that has them.
pub(crate) const HEADER: &str = "x-jackfield-notes";

/// The most bytes of it.
const MOST: usize = 2048;
