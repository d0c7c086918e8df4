//! The notes header: what was lost or changed in the translation of a request or its reply.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderValue};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_engine::ToolboxProblem;
use serde_json::json;

/// Notes as compact JSON that fits into a header, the most severe first; `None` without notes.
///
/// A last entry, `{"more":n}`, counts those that do not fit. Characters beyond ASCII are escaped.
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
            "kind": note.kind.as_str(),
            "effect": note.effect.as_str(),
            "code": note.code,
        });
        let entry = ascii(&entry.to_string());
        if text.len() + entry.len() > LIMIT {
            let _taken = write!(text, "{}{{\"more\":{}}}", comma(nth), all - nth);
            break;
        }
        text.push_str(comma(nth));
        text.push_str(&entry);
    }
    text.push(']');
    HeaderValue::try_from(text).ok()
}

/// Notes of toolboxes that are missing in this turn, entirely or in part; the log has the reasons.
pub(crate) fn from_problems(problems: &[ToolboxProblem]) -> Vec<Note> {
    let mut toolboxes: Vec<&str> = problems.iter().map(|one| one.toolbox.as_str()).collect();
    toolboxes.sort_unstable();
    toolboxes.dedup();
    let notes = toolboxes.into_iter().map(|toolbox| {
        let (kind, path) = (NoteKind::Dropped, format!("tools.{toolbox}"));
        Note::new(kind, NoteEffect::Quality, "tools_missing", path)
    });
    notes.collect()
}

/// Adds notes to the headers of a response.
pub(crate) fn insert(headers: &mut HeaderMap, notes: Option<HeaderValue>) {
    if let Some(notes) = notes {
        headers.insert(HEADER, notes);
    }
}

const fn comma(nth: usize) -> &'static str {
    if nth == 0 { "" } else { "," }
}

fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        // A header allows no control characters, and JSON leaves DEL unescaped.
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

/// The name of the header.
pub(crate) const HEADER: &str = "x-jackfield-notes";

/// The maximum size of its value, in bytes.
const LIMIT: usize = 2048;
