//! Detects what looks like a key in a text, and removes it.

use serde_json::Value;

/// Replaces everything that looks like a key by `[redacted: key]`.
///
/// That is: a text that begins like the keys of well-known vendors and is long enough; a run of at least 32
/// letters and digits, with `_` and `-`, that includes lowercase letters, capitals and digits; a JSON web token;
/// a private key between its lines; the value after `bearer`, and after names such as `password`, `api_key`,
/// `secret` and `token` followed by `=` or `:`, up to the closing quote or the next blank; and the password in an
/// address.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = private_key(rest) {
            safe.push_str(HIDDEN);
            rest = after;
            continue;
        }
        if safe.ends_with("://")
            && let Some((name, password)) = password(rest)
        {
            safe.push_str(name);
            safe.push(':');
            safe.push_str(HIDDEN);
            rest = &rest[name.len() + 1 + password.len()..];
            continue;
        }
        let secret = secret_value_len(&safe, rest);
        if secret > 0 {
            safe.push_str(HIDDEN);
            rest = &rest[secret..];
            continue;
        }
        let run = rest.find(|c| !is_key_char(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(run);
        if word.is_empty() {
            safe.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if looks_like_a_key(word) || follows_auth_scheme(&safe, word) {
            safe.push_str(HIDDEN);
        } else {
            safe.push_str(word);
        }
        rest = after;
    }
    safe
}

/// Does the same in every string of a JSON value, including the names of fields.
pub fn without_secrets_in(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_secrets_in),
        Value::Object(fields) => {
            let taken = std::mem::take(fields);
            fields.extend(taken.into_iter().map(|(name, mut field)| {
                without_secrets_in(&mut field);
                (without_secrets(&name), field)
            }));
        }
        Value::String(text) => *text = without_secrets(text),
        Value::Bool(_) | Value::Null | Value::Number(_) => {}
    }
}

/// The replacement of a key.
const HIDDEN: &str = "[redacted: key]";

/// The prefixes of keys of well-known vendors.
const PREFIXES: [&str; 28] = [
    "AIza",
    "AKIA",
    "ASIA",
    "dop_v1_",
    "gho_",
    "ghp_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "gsk_",
    "hf_",
    "jk_",
    "lin_api_",
    "npm_",
    "pk_live_",
    "pypi-",
    "r8_",
    "rk_live_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "tvly-",
    "whsec_",
    "xai-",
    "xoxb-",
    "xoxp-",
];

/// Names before a secret value, in lowercase.
const NAMES: [&str; 10] = [
    "access_key",
    "api-key",
    "api_key",
    "apikey",
    "authorization",
    "passwd",
    "password",
    "secret",
    "token",
    "x-api-key",
];

/// The minimum length of a run that is a key by its characters alone.
const RUN: usize = 32;
/// The minimum length of a run with a digit that is a key after `bearer`.
const AFTER_SCHEME: usize = 8;
/// The minimum length of a run that is a key by its prefix.
const AFTER_PREFIX: usize = 16;

const SCHEMES: [&str; 2] = ["basic", "bearer"];
/// Characters allowed between a name and its value.
const BLANKS: [char; 4] = ['"', '\'', '`', ' '];

const fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '~')
}

fn looks_like_a_key(word: &str) -> bool {
    let word = word.trim_end_matches('.');
    if PREFIXES
        .iter()
        .any(|prefix| word.starts_with(prefix) && word.len() >= AFTER_PREFIX)
    {
        return true;
    }
    // A JSON web token: three parts, the first of which begins with `{"`.
    if word.starts_with("eyJ") && word.split('.').count() >= 3 {
        return true;
    }
    word.split(['.', '+', '~']).any(|run| {
        run.len() >= RUN
            && run.bytes().any(|byte| byte.is_ascii_lowercase())
            && run.bytes().any(|byte| byte.is_ascii_uppercase())
            && run.bytes().any(|byte| byte.is_ascii_digit())
    })
}

/// Whether a word is a key because an authentication scheme precedes it.
fn follows_auth_scheme(before: &str, word: &str) -> bool {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    has_digit && word.len() >= AFTER_SCHEME && ends_with(before.trim_end_matches(BLANKS), &SCHEMES)
}

/// The length of a secret value after its name, in bytes; 0 if it is none.
fn secret_value_len(before: &str, rest: &str) -> usize {
    let blank = |c: char| c.is_whitespace() || BLANKS.contains(&c) || matches!(c, ':' | '=');
    if rest.starts_with(blank) || rest.starts_with(HIDDEN) {
        return 0;
    }
    let mut named = before.trim_end_matches(BLANKS);
    let end = |what: &str| {
        rest.get(..what.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(what))
            && rest[what.len()..].starts_with(' ')
    };
    // The scheme is not secret, but the next word is; schemes are case-insensitive.
    if SCHEMES.iter().any(|scheme| end(scheme)) {
        return 0;
    }
    if let Some(scheme) = SCHEMES.iter().find(|scheme| ends_with(named, &[scheme])) {
        named = named[..named.len() - scheme.len()].trim_end_matches(BLANKS);
    }
    let Some(name) = named.strip_suffix([':', '=']) else {
        return 0;
    };
    if !ends_with(name.trim_end_matches(BLANKS), &NAMES) {
        return 0;
    }
    let last = before.chars().next_back();
    match last.filter(|c| *c != ' ' && BLANKS.contains(c)) {
        Some(quote) => quoted_len(rest, quote),
        None => rest
            .find(|c: char| c.is_whitespace() || BLANKS.contains(&c))
            .unwrap_or(rest.len()),
    }
}

/// The number of bytes before this quote, or before the end of the line.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (place, c) in text.char_indices() {
        if c == '\n' || (c == quote && !is_escaped) {
            return place;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

/// Whether a text ends with one of these words, ignoring case.
fn ends_with(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        let from = text.len().checked_sub(word.len());
        let end = from.and_then(|from| text.get(from..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(word))
    })
}

/// The user name and password at the beginning of an address after `://`, if present.
fn password(authority: &str) -> Option<(&str, &str)> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '<' | '>' | '"' | '`');
    let authority = &authority[..authority.find(ends).unwrap_or(authority.len())];
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':')
        .filter(|(_, password)| !password.is_empty() && *password != HIDDEN)
}

/// The text after a private key that begins here; empty if the key has no end. `None` if no key begins here.
fn private_key(text: &str) -> Option<&str> {
    let begin = text.strip_prefix("-----BEGIN ")?;
    let (kind, inside) = begin.split_once("-----")?;
    if !kind.ends_with("PRIVATE KEY") || kind.len() > 40 {
        return None;
    }
    let Some((_, after)) = inside.split_once("-----END ") else {
        return Some("");
    };
    Some(after.split_once("-----").map_or("", |(_, after)| after))
}
