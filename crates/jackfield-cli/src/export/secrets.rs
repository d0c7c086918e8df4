//! What looks like a key in a text, and the text without it.

use serde_json::Value;

/// The text with `[redacted: key]` in the place of everything that looks like a key.
///
/// That is: what begins as the keys of well-known vendors do and is long enough for one; a run of at
/// least 32 letters and digits, with `_` and `-`, among which are small letters, capitals and digits; a
/// JSON web token; a private key between its lines; what follows `bearer`, and names such as `password`,
/// `api_key`, `secret` and `token` with `=` or `:` behind them; and the password of an address.
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
        let run = rest.find(|c| !is_of_key(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(run);
        if word.is_empty() {
            safe.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if looks_like_a_key(word) || follows_a_name(&safe, word) || is_a_password(&safe, after) {
            safe.push_str(HIDDEN);
        } else {
            safe.push_str(word);
        }
        rest = after;
    }
    safe
}

/// Takes what looks like a key out of every text of a JSON value, names of fields included.
pub(super) fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => {
            let taken = std::mem::take(fields);
            fields.extend(taken.into_iter().map(|(name, mut field)| {
                hide(&mut field);
                (without_secrets(&name), field)
            }));
        }
        Value::String(text) => *text = without_secrets(text),
        Value::Bool(_) | Value::Null | Value::Number(_) => {}
    }
}

/// What stands in the place of a key.
const HIDDEN: &str = "[redacted: key]";

/// How keys of well-known vendors begin.
const PREFIXES: [&str; 27] = [
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

/// What stands before a value that is secret, in small letters.
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

/// The shortest run that is a key by its looks alone.
const RUN: usize = 32;
/// The shortest run that is a key by standing behind `bearer`, if it has a digit.
const AFTER_SCHEME: usize = 8;
/// The shortest run that is a key by how it begins.
const AFTER_PREFIX: usize = 16;

const fn is_of_key(c: char) -> bool {
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

/// Whether what comes before says that a secret follows.
fn follows_a_name(before: &str, word: &str) -> bool {
    let is_scheme = ["basic", "bearer"].contains(&word.to_ascii_lowercase().as_str());
    if is_scheme {
        return false;
    }
    let unquoted = before.trim_end_matches(['"', '\'', '`', ' ']);
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    if ends_with(unquoted, &["basic", "bearer"]) && has_digit && word.len() >= AFTER_SCHEME {
        return true;
    }
    let Some(name) = unquoted.strip_suffix([':', '=']) else {
        return false;
    };
    ends_with(name.trim_end_matches(['"', '\'', '`', ' ']), &NAMES)
}

/// Whether a text ends in one of these words, in whatever letters.
fn ends_with(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        let from = text.len().checked_sub(word.len());
        let end = from.and_then(|from| text.get(from..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(word))
    })
}

/// Whether this stands between the name and the host of an address: `://name:HERE@host`.
fn is_a_password(before: &str, after: &str) -> bool {
    let Some(rest) = before.strip_suffix(':') else {
        return false;
    };
    let name = rest.trim_end_matches(is_of_key);
    after.starts_with('@') && name.ends_with("://")
}

/// What stands behind a private key that begins here; all that is left, if it does not end.
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
