//! Calls without a mark of their own: a reply that is one JSON object, or a list of such, with a name and arguments; one
//! that is a list of calls as Python writes them; and one that is a single code block of either.
//!
//! Any JSON or code could be an answer, so only a whole reply counts, and only if it calls offered tools alone. Llama 3
//! writes `{"name": ..., "parameters": {...}}` (Meta's page on prompts for Llama 3.1), Llama 3.2 and 4
//! `[f(a="x")]`, untrained models `{"tool_call": {...}}` or a block of `json` (`common/chat.cpp` of llama.cpp, its
//! generic form; 2026-11).

use serde_json::value::RawValue;

use super::super::call::{OfferedTools, TextCall, call_of, fields, leading_array, leading_object};
use super::super::opener::BLANKS;
use super::python;

/// Whether a reply that begins like this may be nothing but calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum Start {
    /// No, however it goes on.
    No,
    /// It is too short to be judged.
    Unknown,
    /// Yes.
    Yes,
}

/// Judges the beginning of a reply, without blanks before it. Once it is yes or no, more text does not change that.
pub(in super::super) fn start(text: &str, offered: &OfferedTools) -> Start {
    if let Some(inner) = text.strip_prefix(FENCE) {
        return fence_start(inner, offered);
    }
    if !text.is_empty() && FENCE.starts_with(text) {
        return Start::Unknown;
    }
    code_start(text, offered)
}

fn fence_start(text: &str, offered: &OfferedTools) -> Start {
    let Some((language, code)) = text.split_once('\n') else {
        let language = text.trim_matches(BLANKS).to_ascii_lowercase();
        let mut known = LANGUAGES.iter();
        return if known.any(|known| known.starts_with(&language)) && text.len() <= MAX_BLANKS {
            Start::Unknown
        } else {
            Start::No
        };
    };
    let is_short = language.len() <= MAX_BLANKS;
    let language = language.trim_matches(BLANKS).to_ascii_lowercase();
    if !is_short || !LANGUAGES.contains(&&*language) {
        return Start::No;
    }
    after_blanks(code, |code| code_start(code, offered))
}

fn code_start(text: &str, offered: &OfferedTools) -> Start {
    if let Some(inner) = text.strip_prefix('{') {
        return object_start(inner);
    }
    let Some(inner) = text.strip_prefix('[') else {
        return if text.is_empty() {
            Start::Unknown
        } else {
            Start::No
        };
    };
    after_blanks(inner, |inner| list_start(inner, offered))
}

fn list_start(inner: &str, offered: &OfferedTools) -> Start {
    if let Some(inner) = inner.strip_prefix('{') {
        return object_start(inner);
    }
    match inner.find(|c| !python::is_name(c)) {
        None if offered.has_prefix(inner) => Start::Unknown,
        Some(end) if inner.get(end..).is_some_and(|rest| rest.starts_with('(')) => {
            match inner.get(..end) {
                Some(name) if offered.has(name) => Start::Yes,
                Some(_) | None => Start::No,
            }
        }
        None | Some(_) => Start::No,
    }
}

/// Judges an object by its first key.
fn object_start(text: &str) -> Start {
    after_blanks(text, |inner| {
        let Some(inner) = inner.strip_prefix('"') else {
            return Start::No;
        };
        let mut keys = KEYS.iter();
        match inner.split_once('"') {
            Some((key, _)) if keys.any(|known| *known == key) => Start::Yes,
            None if keys.any(|known| known.starts_with(inner)) => Start::Unknown,
            Some(_) | None => Start::No,
        }
    })
}

/// Judges what follows the blanks at the beginning. Too many are a no, whether or not anything follows yet.
fn after_blanks(text: &str, judge: impl FnOnce(&str) -> Start) -> Start {
    let rest = text.trim_start_matches(BLANKS);
    if text.len() - rest.len() > MAX_BLANKS {
        Start::No
    } else if rest.is_empty() {
        Start::Unknown
    } else {
        judge(rest)
    }
}

/// The calls of a whole reply.
pub(in super::super) fn read(text: &str, offered: &OfferedTools) -> Option<Vec<TextCall>> {
    let text = text.trim();
    let code = match text.strip_prefix(FENCE) {
        Some(inner) => {
            let (language, code) = inner.split_once('\n')?;
            let language = language.trim().to_ascii_lowercase();
            if !LANGUAGES.contains(&&*language) {
                return None;
            }
            code.trim_end().strip_suffix(FENCE)?.trim()
        }
        None => text,
    };
    let (calls, rest) = if code.starts_with('{') {
        objects(code, offered)?
    } else if let Some((objects, rest)) = leading_array(code) {
        (list(&objects, offered)?, rest)
    } else {
        python::call_list(code, offered)?
    };
    (rest.trim().is_empty() && !calls.is_empty()).then_some(calls)
}

/// Objects one after the other: Llama 3 separates them by `;`, others by line breaks.
fn objects<'t>(text: &'t str, offered: &OfferedTools) -> Option<(Vec<TextCall>, &'t str)> {
    let mut calls = Vec::new();
    let mut rest = text;
    loop {
        let (object, after) = leading_object(rest)?;
        calls.extend(object_calls(object, offered)?);
        let after = after.trim_start();
        rest = after.strip_prefix(';').unwrap_or(after).trim_start();
        if !rest.starts_with('{') {
            return Some((calls, rest));
        }
    }
}

/// The calls of an object: one of its own, or those in `tool_call` or `tool_calls`.
fn object_calls(object: &RawValue, offered: &OfferedTools) -> Option<Vec<TextCall>> {
    if let Some(call) = call_of(object, offered, false) {
        return Some(vec![call]);
    }
    let fields = fields(object)?;
    if let Some(call) = fields.get("tool_call") {
        return Some(vec![call_of(call, offered, true)?]);
    }
    let (objects, _) = leading_array(fields.get("tool_calls")?.get())?;
    list(&objects, offered)
}

fn list(objects: &[&RawValue], offered: &OfferedTools) -> Option<Vec<TextCall>> {
    let calls = objects.iter().map(|object| call_of(object, offered, false));
    calls.collect()
}

const FENCE: &str = "```";
/// What a block of calls is marked as, in lower case.
const LANGUAGES: [&str; 5] = ["", "json", "python", "tool_call", "tool_code"];
/// The keys with which an object of a call begins.
const KEYS: [&str; 10] = [
    "arguments",
    "function",
    "id",
    "name",
    "parameters",
    "tool",
    "tool_call",
    "tool_calls",
    "tool_name",
    "type",
];
/// How many blanks may stand before the next mark, in bytes.
const MAX_BLANKS: usize = 64;
