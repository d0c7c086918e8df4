//! Further models that a body may name beside its `model`: the vendors' lists of fallbacks, models of tools, and other
//! spellings, which some servers read and others do not.
//!
//! Where a key names its models, or a budget counts by the price of one, such a body is refused.

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use serde_json::value::RawValue;

use super::json::{self, Member};
use super::multipart;
use crate::api_keys::Principal;

/// Refuses a JSON body by which this client could get another model than the one that was looked at.
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
    check_members(client, &json::members(text).unwrap_or_default())
}

/// The same for a body of these members.
///
/// # Errors
///
/// As for [`check_json`].
pub(super) fn check_members(client: &Principal, members: &[Member<'_>]) -> Result<(), ServeError> {
    match is_bound(client).then(|| of_body(members)).flatten() {
        Some(place) => Err(refusal(&place)),
        None => Ok(()),
    }
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

/// The place of a further model in a body.
fn of_body(members: &[Member<'_>]) -> Option<String> {
    if members.iter().filter(|member| member.key == MODEL).count() > 1 {
        return Some("a second `model`".to_owned());
    }
    members.iter().find_map(|member| {
        if is_other(&member.key) && says_something(member.value) {
            return Some(member.key.clone().into_owned());
        }
        // A batch has whole requests, and a proxy's field has more of this one.
        let is_whole = BODIES.contains(&&*member.key);
        if !is_whole && !LISTS.contains(&&*member.key) {
            return None;
        }
        let entries: Vec<&RawValue> = serde_json::from_str(member.value).unwrap_or_default();
        let entries = entries.into_iter().map(|entry| entry.get());
        let mut entries = entries.chain(is_whole.then_some(member.value));
        let place = entries.find_map(of_entry)?;
        Some(format!("{}/…/{place}", member.key))
    })
}

/// The place of a model in an entry of a list. What is in schemas and arguments is the client's own.
fn of_entry(entry: &str) -> Option<String> {
    let members = json::members(entry)?;
    let is_function = |member: &Member<'_>| member.key == "type" && member.value == "\"function\"";
    let has_schema = members.iter().any(is_function);
    let inner = members.iter().filter(|member| match &*member.key {
        "body" | "params" => true,
        // Of a vendor's own tool, these are settings.
        "parameters" => !has_schema,
        _ => false,
    });
    named(&members).or_else(|| {
        let mut inner = inner.filter_map(|member| json::members(member.value));
        inner.find_map(|members| named(&members))
    })
}

/// The first member that names a model.
fn named(members: &[Member<'_>]) -> Option<String> {
    let names = |member: &&Member<'_>| {
        (member.key == MODEL || is_other(&member.key)) && says_something(member.value)
    };
    let found = members.iter().find(names);
    found.map(|member| member.key.clone().into_owned())
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
/// Lists whose entries may have models of their own.
const LISTS: [&str; 2] = ["plugins", "tools"];
/// Fields with more of this request, or with further ones.
const BODIES: [&str; 2] = ["extra_body", "requests"];
