//! Further models that a request may name beside its own: the vendors' lists of fallbacks, models of tools, and other
//! spellings, which some servers read and others do not.
//!
//! Where a key names its models, or a budget counts by the price of one, such a request is refused. Every place counts
//! but those of the client's own data: vendors have more settings than a list of them.

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use serde_json::value::RawValue;

use super::json::{self, Member};
use super::multipart;
use super::request::RequestBody;
use crate::api_keys::Principal;

/// Refuses a JSON body by which this client could get another model than the one that was looked at, its `model`.
///
/// # Errors
///
/// [`ServeErrorKind::Forbidden`], with the place.
pub(crate) fn check_json(client: &Principal, body: &[u8]) -> Result<(), ServeError> {
    if !is_bound(client) {
        return Ok(());
    }
    let text = std::str::from_utf8(body).unwrap_or_default();
    // Whatever else it is, no model is read from it.
    let members = json::members(text).unwrap_or_default();
    let own = json::only(&members, MODEL).and_then(|model| json::string(model.value));
    of_body(&members, own.as_deref(), false).map_or(Ok(()), |place| Err(refusal(&place)))
}

/// The same for a request whose model was looked at.
///
/// # Errors
///
/// As for [`check_json`].
pub(super) fn check_body(client: &Principal, body: &RequestBody<'_>) -> Result<(), ServeError> {
    if !is_bound(client) {
        return Ok(());
    }
    let found = of_body(&body.members, Some(&body.model), body.is_addressed());
    found.map_or(Ok(()), |place| Err(refusal(&place)))
}

/// The same for the query of an address.
///
/// # Errors
///
/// As for [`check_json`].
pub(super) fn check_query(
    client: &Principal,
    query: Option<&str>,
    own: Option<&str>,
) -> Result<(), ServeError> {
    if !is_bound(client) {
        return Ok(());
    }
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let mut others = pairs.filter(|(key, value)| {
        let is_own = own.is_some_and(|own| is_same(value, own));
        (key.eq_ignore_ascii_case(MODEL) || is_other(key)) && !value.is_empty() && !is_own
    });
    let other = others.next();
    other.map_or(Ok(()), |(key, _)| Err(refusal(&format!("?{key}"))))
}

/// The same for a form.
///
/// # Errors
///
/// As for [`check_json`].
pub(super) fn check_form(
    client: &Principal,
    content_type: &str,
    body: &[u8],
) -> Result<(), ServeError> {
    if !is_bound(client) {
        return Ok(());
    }
    let Some(names) = multipart::names(content_type, body) else {
        return Err(refusal("a part whose name cannot be read for certain"));
    };
    let models = names.iter().filter(|name| *name == MODEL).count();
    match names.iter().find(|name| is_other(name)) {
        Some(other) => Err(refusal(other)),
        None if models > 1 => Err(refusal("a second `model`")),
        None => Ok(()),
    }
}

/// Whether it matters which model answers this client.
fn is_bound(client: &Principal) -> bool {
    client.models.is_some() || !client.budgets().is_empty()
}

/// The place of a further model in a body, whose own model is in the address, or is its `model`.
fn of_body(members: &[Member<'_>], own: Option<&str>, is_addressed: bool) -> Option<String> {
    if members.iter().filter(|member| member.key == MODEL).count() > 1 {
        return Some("a second `model`".to_owned());
    }
    members.iter().find_map(|member| {
        if member.key == MODEL && !is_addressed {
            return None;
        }
        if names(member, own) || member.key.eq_ignore_ascii_case(PRESET) {
            return says_something(member.value).then(|| member.key.clone().into_owned());
        }
        let place = within(member, own, 0)?;
        Some(format!("{}/…/{place}", member.key))
    })
}

/// The place of a model within a member.
fn within(member: &Member<'_>, own: Option<&str>, depth: usize) -> Option<String> {
    let key = &*member.key;
    if OWN_DATA.contains(&key) || !member.value.starts_with(['{', '[']) {
        return None;
    }
    if depth == MAX_DEPTH {
        return Some(key.to_owned());
    }
    let of_object = |object: &str| {
        let members = json::members(object)?;
        members.iter().find_map(|inner| {
            if MESSAGES.contains(&key) && !inner.key.to_lowercase().contains("tools") {
                return None;
            }
            if names(inner, own) && says_something(inner.value) {
                return Some(inner.key.clone().into_owned());
            }
            within(inner, own, depth + 1)
        })
    };
    if member.value.starts_with('{') {
        return of_object(member.value);
    }
    let entries: Vec<&RawValue> = serde_json::from_str(member.value).unwrap_or_default();
    entries.iter().find_map(|entry| of_object(entry.get()))
}

/// Whether a member names a model other than this one.
fn names(member: &Member<'_>, own: Option<&str>) -> bool {
    let is_model = member.key == MODEL || is_other(&member.key);
    let is_own = || {
        let name = json::string(member.value);
        name.zip(own).is_some_and(|(name, own)| is_same(&name, own))
    };
    is_model && !is_own()
}

/// Whether two names are of one model; Google's interface has them with a prefix as well.
fn is_same(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.strip_prefix("models/").unwrap_or(name).to_owned();
    bare(one) == bare(other)
}

/// Whether a field may name models, other than `model` itself.
fn is_other(key: &str) -> bool {
    let small = key.to_lowercase();
    (small.contains(MODEL) || small.contains("fallback")) && key != MODEL
}

fn says_something(value: &str) -> bool {
    !["null", "false", "[]", "{}", "\"\""].contains(&value)
}

fn refusal(place: &str) -> ServeError {
    let message = format!(
        "this key is for named models, or its cost or tokens are limited, and `{place}` could name another model: leave it out"
    );
    ServeError::new(ServeErrorKind::Forbidden, message).at(place)
}

const MODEL: &str = "model";
/// OpenRouter's name for settings that it keeps, models among them.
const PRESET: &str = "preset";
/// Lists of messages, in which only `tools` are settings.
const MESSAGES: [&str; 3] = ["contents", "input", "messages"];
/// What the client's own data stand in: schemas, by the keys that have names of their own, and texts.
const OWN_DATA: [&str; 18] = [
    "$defs",
    "arguments",
    "const",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "enum",
    "example",
    "examples",
    "labels",
    "logit_bias",
    "metadata",
    "patternProperties",
    "properties",
    "system",
    "variables",
];
/// How deep a body is looked at; what is deeper is refused.
const MAX_DEPTH: usize = 32;
