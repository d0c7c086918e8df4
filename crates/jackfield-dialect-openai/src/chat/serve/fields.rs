//! Validation of the request fields that a server has to judge.
//!
//! | field | what becomes of it |
//! |---|---|
//! | `functions`, `function_call` | refused: the answer would have to be in their form |
//! | `audio`, `modalities` with more than `text` | refused: no sound is answered |
//! | `logprobs`, `top_logprobs` | refused: no provider's are carried |
//! | `n` above 1 | refused: there is one answer |
//! | `moderation`, and what makes other servers act | refused |
//! | `web_search_options`, and other servers' fields for a search | passed on to a provider of this dialect, otherwise refused |
//! | tools of a vendor's own | refused |
//! | `store: true` | the turn is kept; there is no list of completions to find it in |
//! | `metadata` | noted: nothing reads it |
//! | `stream_options.include_obfuscation` | noted: nothing is padded |
//! | `stream_options.include_usage` | served |
//! | any other | passed on to a provider of this dialect, and noted with another one |

use std::collections::HashSet;

use jackfield_dialect_kit::incoming::Incoming;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_kit::whole_number;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use serde_json::{Map, Value};

use crate::chat::request::{acts, searches};
use crate::chat::wire;

/// The key in the echo for the client's request for usage.
pub(super) const USAGE: &str = "include_usage";

/// The result of the validation.
#[derive(Debug, Default)]
pub(super) struct CheckedFields {
    pub(super) echo: Map<String, Value>,
    pub(super) notes: Vec<Note>,
    pub(super) store: Option<bool>,
}

/// Validates the fields of a body, and removes those that are not passed on.
///
/// `is_own` says whether a provider of this dialect answers.
pub(super) fn check(body: &mut wire::Request, is_own: bool) -> Result<CheckedFields, ServeError> {
    if body.model.trim().is_empty() {
        return Err(invalid("model", "the name of a model is needed"));
    }
    if body.functions.take().is_some_and(|all| !all.is_empty()) {
        return Err(unsupported("functions", "send them as `tools`"));
    }
    if body.function_call.is_some() {
        return Err(unsupported("function_call", "send `tool_choice`"));
    }
    let mut checked = CheckedFields::default();
    let mut notes = Notes::default();
    for (field, json) in std::mem::take(&mut body.extra) {
        if !is_own && searches(&field, &json) {
            return Err(unsupported(&field, SEARCHES));
        }
        if !json.is_null() && check_extra_field(&field, &json, &mut checked, &mut notes)? {
            body.extra.insert(field, json);
        }
    }
    if let Some(options) = &mut body.stream_options {
        if options.include_usage == Some(true) {
            checked.echo.insert(USAGE.to_owned(), Value::Bool(true));
        }
        let padded = options.extra.remove("include_obfuscation");
        if padded == Some(Value::Bool(true)) {
            let path = "stream_options.include_obfuscation";
            notes.dropped(NoteEffect::Cosmetic, "stream_not_padded", path);
        }
    }
    checked.notes = notes.into_vec();
    Ok(checked)
}

/// Validates what needs the parsed body.
pub(super) fn check_read(incoming: &Incoming) -> Result<(), ServeError> {
    // Vendor-side actions are not offered here.
    let mut notes = incoming.notes.iter();
    if let Some(note) = notes.find(|note| note.kind == NoteKind::Refused) {
        return Err(unsupported(&note.path, ACTS));
    }
    if incoming.messages.is_empty() {
        let reason = "at least one user message or tool result is needed";
        return Err(invalid("messages", reason));
    }
    let mut names = HashSet::new();
    for (n, tool) in incoming.tools.iter().enumerate() {
        if !names.insert(&tool.name) {
            let reason = format!("there are two tools named `{}`", tool.name.as_str());
            return Err(invalid(&format!("tools.{n}"), &reason));
        }
    }
    Ok(())
}

/// Whether a field is passed on as an extension of this dialect.
fn check_extra_field(
    field: &str,
    json: &Value,
    checked: &mut CheckedFields,
    notes: &mut Notes,
) -> Result<bool, ServeError> {
    match field {
        "audio" => return Err(unsupported(field, SILENT)),
        "logprobs" => {
            if read_flag(field, json)? {
                return Err(unsupported(field, UNCARRIED));
            }
        }
        "metadata" => notes.dropped(NoteEffect::Cosmetic, "metadata_not_kept", field),
        "modalities" => match json.as_array() {
            None => return Err(invalid(field, "a list is needed")),
            Some(all) if all.iter().any(|one| one != "text") => {
                return Err(unsupported(field, SILENT));
            }
            Some(_) => {}
        },
        "moderation" => return Err(unsupported(field, "nothing is judged here: leave it out")),
        "n" => match whole_number::from_value(json) {
            None | Some(0) => return Err(invalid(field, "a number from 1 is needed")),
            Some(1) => {}
            Some(_) => return Err(unsupported(field, "there is one answer: ask several times")),
        },
        "store" => {
            if read_flag(field, json)? {
                checked.store = Some(true);
                notes.approximated(NoteEffect::Cosmetic, "kept_as_a_session", field);
            }
        }
        "top_logprobs" => match whole_number::from_value(json) {
            None => return Err(invalid(field, "a number is needed")),
            Some(0) => {}
            Some(_) => return Err(unsupported(field, UNCARRIED)),
        },
        _ if acts(field, json) => return Err(unsupported(field, ACTS)),
        _ => return Ok(true),
    }
    Ok(false)
}

fn read_flag(field: &str, json: &Value) -> Result<bool, ServeError> {
    let flag = json.as_bool();
    flag.ok_or_else(|| invalid(field, "`true` or `false` is needed"))
}

fn invalid(param: &str, reason: &str) -> ServeError {
    ServeError::new(ServeErrorKind::Invalid, format!("{param}: {reason}")).at(param)
}

fn unsupported(param: &str, reason: &str) -> ServeError {
    let message = format!("`{param}` is not served by this gateway: {reason}");
    ServeError::new(ServeErrorKind::Unsupported, message).at(param)
}

const ACTS: &str = "leave it out, and let a tool of the gateway do the work";
const SEARCHES: &str = "only a provider that speaks Chat Completions searches by itself; leave it out, and let a tool of the gateway do the work";
const SILENT: &str = "only text is answered";
const UNCARRIED: &str = "the likelihood of tokens is not carried: leave it out";
