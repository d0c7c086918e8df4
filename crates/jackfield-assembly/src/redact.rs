//! What is secret in a configuration, taken out before people are shown it.
//!
//! Keys do not belong into these files, and most of them are refused there. This is for the places
//! where one can stand all the same: addresses, fields that only a provider knows, arguments of servers.

use serde_json::Value;

/// A value of a key, without what is secret in it.
pub(crate) fn value(key: &str, value: &Value) -> Value {
    match value {
        Value::String(_) if is_about_secrets(key) && !names_others(key) => HIDDEN.into(),
        // Any header can be a key; one that names a variable holds none itself.
        Value::String(said) if key.contains(HEADERS) && !said.contains("${") => HIDDEN.into(),
        Value::String(said) => text(said).into(),
        Value::Array(items) => items.iter().map(|item| self::value(key, item)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), self::value(name, field)))
            .collect(),
        Value::Bool(_) | Value::Null | Value::Number(_) => value.clone(),
    }
}

/// A text, without the password of an address and without what looks like a key.
pub(crate) fn text(said: &str) -> String {
    // A key can stand in a path, in a header, or behind a name.
    let ends = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
    if said.split(ends).any(looks_like_a_key) {
        return HIDDEN.to_owned();
    }
    let Some((scheme, rest)) = said.split_once("://") else {
        return said.to_owned();
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, _)) => (place, "?…"),
        None => (rest, ""),
    };
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{path}{query}"),
        None => format!("{scheme}://{place}{query}"),
    }
}

/// The arguments of a program, without what is secret in them; `${NAME}` says nothing secret.
pub(crate) fn arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut hidden = false;
    let shown = arguments.into_iter().map(|argument| {
        let is_flag = argument.starts_with('-');
        let hides = std::mem::replace(&mut hidden, false) && !is_flag;
        if let Some((name, said)) = behind_a_name(argument) {
            return format!("{name}{}", unless_named(said));
        }
        hidden = is_flag && is_about_secrets(argument);
        if hides {
            return unless_named(argument).to_owned();
        }
        text(argument)
    });
    shown.collect()
}

/// What comes behind the name of a secret, as in `--token=…` and `--header=Cookie: …`, and what is before it.
fn behind_a_name(argument: &str) -> Option<(&str, &str)> {
    let mut begin = 0;
    argument.match_indices(['=', ':']).find_map(|(at, _)| {
        let name = argument.get(begin..at).unwrap_or_default();
        begin = at + 1;
        is_about_secrets(name).then(|| argument.split_at_checked(begin))?
    })
}

/// What is hidden, unless it only names a variable.
fn unless_named(said: &str) -> &str {
    let only_named = said.starts_with("${") && said.ends_with('}') && !said.contains(":-");
    if only_named { said } else { HIDDEN }
}

/// Whether what has this name is likely to be secret. The names of our own keys are not, and say where
/// a secret is.
fn is_about_secrets(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let ours = ["api_key_env", "api_key_file", "key_header"];
    let last = last.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let plural = last.ends_with("tokens");
    let part = last.rsplit(['-', '_']).next().unwrap_or(last);
    let is_one = PARTS.contains(&part) || WORDS.iter().any(|word| last.contains(word));
    !ours.contains(&last) && !plural && is_one
}

/// Whether a key of ours ends in a name that people give to something else, such as a tool.
fn names_others(key: &str) -> bool {
    ["aliases.", "policy."]
        .iter()
        .any(|begin| key.starts_with(begin))
}

fn looks_like_a_key(word: &str) -> bool {
    let key = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    key.len() >= 16 && BEGINNINGS.iter().any(|begin| key.starts_with(begin))
}

/// What stands in place of a secret.
const HIDDEN: &str = "[hidden]";

/// What stands in the keys of headers.
const HEADERS: &str = ".headers.";

/// What the names of secrets end with, behind a `-` or `_` or on its own.
const PARTS: &[&str] = &["key", "pass", "passphrase", "passwd", "pat", "pwd"];

/// Parts of the names of secrets.
const WORDS: &[&str] = &[
    "api-key",
    "api_key",
    "apikey",
    "auth",
    "bearer",
    "cookie",
    "credential",
    "password",
    "secret",
    "token",
];

/// How keys of well-known services begin (their documentation, 2026-11).
const BEGINNINGS: &[&str] = &[
    "AIza",
    "AKIA",
    "eyJ",
    "ghp_",
    "github_pat_",
    "glpat-",
    "gsk_",
    "hf_",
    "sk-",
    "tvly-",
    "xoxb-",
    "xoxp-",
];
