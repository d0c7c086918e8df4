//! The fields of a request that a refusal names: strict servers refuse fields that they do not know.

use std::collections::BTreeMap;
use std::slice;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::error_patterns;

/// Which of the `added` fields of a request a refusal names, so that the request may be sent without them. None if it
/// names a field that the client had set, or if it is known to mean something else.
///
/// `refusal` and `request` are the bodies; every field of the request that is not in `added` is the client's. Names
/// are read in quotes, in paths (`tools[0].strict`, `["body", "stream_options"]`), in `param`, behind a word such as
/// `field`, and anywhere if they have an underscore; never as a part of a longer word.
#[must_use]
pub fn refused(refusal: &[u8], request: &[u8], added: &[&'static str]) -> Vec<&'static str> {
    let Ok(fields) = serde_json::from_slice(request) else {
        return Vec::new();
    };
    let mut reader = RefusalReader {
        added,
        fields,
        is_other: false,
        named: Vec::new(),
    };
    match serde_json::from_slice(refusal) {
        Ok(json) => reader.json(&json),
        Err(_) => reader.text(&String::from_utf8_lossy(refusal)),
    }
    if reader.is_other {
        return Vec::new();
    }
    reader.named
}

/// Whether a status is that of a refusal of the request's content.
#[must_use]
pub const fn is_refusal(status: u16) -> bool {
    matches!(status, 400 | 422)
}

struct RefusalReader<'a> {
    added: &'a [&'static str],
    /// The fields of the request.
    fields: BTreeMap<String, IgnoredAny>,
    /// Whether the refusal is about something else, too.
    is_other: bool,
    named: Vec<&'static str>,
}

impl RefusalReader<'_> {
    /// Reads the members of an error that say something; others may repeat the request.
    fn json(&mut self, json: &Value) {
        match json {
            Value::Array(items) => {
                for item in items {
                    self.json(item);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    if PLACES.contains(&name.as_str()) {
                        self.place(value);
                    } else if WORDS.contains(&name.as_str()) {
                        self.json(value);
                    }
                }
            }
            Value::String(text) => match serde_json::from_str(text) {
                // A router quotes the error of its provider.
                Ok(inner @ (Value::Array(_) | Value::Object(_))) => self.json(&inner),
                Ok(_) | Err(_) => self.text(text),
            },
            Value::Bool(_) | Value::Null | Value::Number(_) => {}
        }
    }

    /// Reads a member that is a path: a text, or a list of steps.
    fn place(&mut self, json: &Value) {
        let text = |step: &Value| match step {
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) => Some(text.clone()),
            Value::Array(_) | Value::Bool(_) | Value::Null | Value::Object(_) => None,
        };
        let steps = json
            .as_array()
            .map_or_else(|| slice::from_ref(json), Vec::as_slice);
        let path = steps.iter().filter_map(text).collect::<Vec<_>>().join(".");
        self.path(&path, true);
    }

    /// Reads a text for people.
    fn text(&mut self, text: &str) {
        if error_patterns::remedy(text).is_some() {
            self.is_other = true;
        }
        // What follows is what the server takes, or repeats the request.
        let lower = text.to_ascii_lowercase();
        let ends = ENDS.iter().filter_map(|end| lower.find(end));
        let text = text.get(..ends.min().unwrap_or(text.len()));
        let text = text.unwrap_or_default();
        let mut rest = 0;
        let mut before = "";
        let mut is_announced = false;
        while let Some((start, end)) = next_word(text, rest) {
            let gap = text.get(rest..start).unwrap_or_default();
            let word = text.get(start..end).unwrap_or_default();
            let behind = text.get(end..).unwrap_or_default();
            let is_listed =
                is_announced && gap.contains(',') && gap.trim_matches(is_list_mark).is_empty();
            let is_after = gap.trim_matches([' ', ':']).is_empty()
                && ANNOUNCING.contains(&before.to_ascii_lowercase().as_str());
            is_announced = is_after || is_listed;
            self.path(word, is_announced || is_quoted(gap, behind));
            (before, rest) = (word, end);
        }
    }

    /// Reads a path, which is certain to be one, or may be a word of a sentence.
    fn path(&mut self, path: &str, is_certain: bool) {
        let steps = path.split(['.', '[', ']', '/', '$']);
        let steps = steps.filter(|step| !step.is_empty());
        let is_index = |step: &&str| step.bytes().all(|byte| byte.is_ascii_digit());
        let is_root = |step: &&str| ROOTS.contains(step);
        let mut clear = steps.clone().skip(1);
        let is_certain = is_certain
            || steps.clone().next().as_ref().is_some_and(is_root)
            || clear.any(|step| is_index(&step));
        let is_named = |step: &str| is_certain || step.contains('_');
        let mut found = steps.clone().filter_map(|step| {
            let mut added = self.added.iter();
            added.find(|field| **field == step && is_named(step))
        });
        if let Some(field) = found.next() {
            if !self.named.contains(field) {
                self.named.push(field);
            }
            return;
        }
        // The place of an item says where it is, and not which of its fields is wrong.
        if steps.clone().next_back().as_ref().is_some_and(is_index) {
            return;
        }
        let first = steps.clone().find(|step| !is_root(step));
        self.is_other |=
            first.is_some_and(|first| is_named(first) && self.fields.contains_key(first));
    }
}

/// The place of the next word, from this place on.
fn next_word(text: &str, from: usize) -> Option<(usize, usize)> {
    let rest = text.get(from..)?;
    let start = from + rest.find(is_part)?;
    let rest = text.get(start..)?;
    let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    Some((start, start + length))
}

/// Whether a character is one of a word: a name, or a path of names.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.[]/$".contains(c)
}

/// Whether a word between these texts is in quotes.
fn is_quoted(before: &str, behind: &str) -> bool {
    let (Some(open), Some(close)) = (before.chars().last(), behind.chars().next()) else {
        return false;
    };
    // A quote within a quoted JSON text is escaped.
    QUOTES.contains(&(open, close)) || (close == '\\' && open == '"')
}

/// Whether a character may stand between the names of a list.
fn is_list_mark(c: char) -> bool {
    c.is_whitespace() || ",'\"`".contains(c)
}

/// The members of an error that are paths.
const PLACES: [&str; 5] = ["field", "loc", "param", "parameter", "path"];
/// The members of an error that have texts, or further members.
const WORDS: [&str; 11] = [
    "description",
    "detail",
    "details",
    "error",
    "errors",
    "fieldViolations",
    "message",
    "metadata",
    "msg",
    "raw",
    "violations",
];
/// The words before a name.
const ANNOUNCING: [&str; 10] = [
    "argument",
    "arguments",
    "field",
    "fields",
    "key",
    "param",
    "parameter",
    "parameters",
    "property",
    "supplied",
];
/// The first steps of a path that name the whole request.
const ROOTS: [&str; 2] = ["body", "request"];
/// What a server writes before names of what it takes, or before what it was sent.
const ENDS: [&str; 6] = [
    "did you mean",
    "expected `",
    "expected one of",
    "'input':",
    "\"input\":",
    "input_value=",
];
const QUOTES: [(char, char); 5] = [
    ('\'', '\''),
    ('"', '"'),
    ('`', '`'),
    ('\u{2018}', '\u{2019}'),
    ('\u{201c}', '\u{201d}'),
];
