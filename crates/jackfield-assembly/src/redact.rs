//! Redacts secrets from a configuration before it is displayed.
//!
//! Keys do not belong into configuration files, and most are refused there. This covers the places where one can
//! occur all the same: addresses, provider options, arguments of servers.

use serde_json::Value;

/// Redacts the value of a key.
pub(crate) fn value(key: &str, value: &Value) -> Value {
    match value {
        Value::String(_) if is_about_secrets(key) && !names_others(key) => HIDDEN.into(),
        // Any header can be a secret, except for one that only refers to a variable.
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

/// Redacts a text: the password of an address, and anything that looks like a key.
pub(crate) fn text(text: &str) -> String {
    // A key can be in a path, in a header, or after a name.
    let ends = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
    if text.split(ends).any(looks_like_a_key) {
        return HIDDEN.to_owned();
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
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

/// Redacts the arguments of a program; `${NAME}` is not secret.
pub(crate) fn arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut hidden = false;
    let shown = arguments.into_iter().map(|argument| {
        let is_flag = argument.starts_with('-');
        let hides = std::mem::replace(&mut hidden, false) && !is_flag;
        if let Some((name, said)) = split_secret_argument(argument) {
            return format!("{name}{}", redact_unless_variable(said));
        }
        hidden = is_flag && is_about_secrets(argument);
        if hides {
            return redact_unless_variable(argument).to_owned();
        }
        text(argument)
    });
    shown.collect()
}

/// Splits an argument after the name of a secret, as in `--token=…` and `--header=Cookie: …`.
fn split_secret_argument(argument: &str) -> Option<(&str, &str)> {
    let mut begin = 0;
    argument.match_indices(['=', ':']).find_map(|(at, _)| {
        let name = argument.get(begin..at).unwrap_or_default();
        begin = at + 1;
        is_about_secrets(name).then(|| argument.split_at_checked(begin))?
    })
}

/// The redaction, or the text itself if it only refers to a variable.
fn redact_unless_variable(text: &str) -> &str {
    let only_named = text.starts_with("${") && text.ends_with('}') && !text.contains(":-");
    if only_named { text } else { HIDDEN }
}

/// Whether a value of this name is likely to be secret. Our own keys about keys are not: they only say where a
/// secret is.
fn is_about_secrets(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let ours = [
        "api_key_env",
        "api_key_file",
        "api_key_keyring",
        "key_header",
        "password_env",
    ];
    let last = last.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let plural = last.ends_with("tokens");
    let part = last.rsplit(['-', '_']).next().unwrap_or(last);
    let is_one = PARTS.contains(&part) || WORDS.iter().any(|word| last.contains(word));
    !ours.contains(&last) && !plural && is_one
}

/// Whether the last part of the key is a free name, such as that of a tool.
fn names_others(key: &str) -> bool {
    ["aliases.", "policy."]
        .iter()
        .any(|begin| key.starts_with(begin))
}

fn looks_like_a_key(word: &str) -> bool {
    let key = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    key.len() >= 16 && BEGINNINGS.iter().any(|begin| key.starts_with(begin))
}

/// The replacement of a secret.
const HIDDEN: &str = "[hidden]";

/// The part common to the keys of headers.
const HEADERS: &str = ".headers.";

/// The last words of secret names, after a `-` or `_` or on their own.
const PARTS: &[&str] = &["key", "pass", "passphrase", "passwd", "pat", "pwd"];

/// Parts of secret names.
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

/// The prefixes of keys of well-known services (their documentation, 2026-11).
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
