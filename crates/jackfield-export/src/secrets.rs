//! What looks like a key in a text, and the text without it.

use serde_json::Value;

/// The text with `[redacted: key]` in the place of everything that looks like a key.
///
/// That is: what begins as the keys of well-known vendors do and is long enough for one; a run of at
/// least 32 letters and digits, with `_` and `-`, among which are small letters, capitals and digits; a
/// JSON web token; a private key between its lines; what follows `bearer`, and names such as `password`,
/// `api_key`, `secret` and `token` with `=` or `:` behind them, up to the closing quote or the next blank;
/// and the password of an address.
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
        let secret = value_of_name(&safe, rest);
        if secret > 0 {
            safe.push_str(HIDDEN);
            rest = &rest[secret..];
            continue;
        }
        let run = rest.find(|c| !is_of_key(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(run);
        if word.is_empty() {
            safe.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if looks_like_a_key(word) || follows_a_scheme(&safe, word) {
            safe.push_str(HIDDEN);
        } else {
            safe.push_str(word);
        }
        rest = after;
    }
    safe
}

/// Takes what looks like a key out of every text of a JSON value, names of fields included.
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

/// How keys are sent.
const SCHEMES: [&str; 2] = ["basic", "bearer"];
/// What may stand between a name and its value.
const BLANKS: [char; 4] = ['"', '\'', '`', ' '];

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

/// Whether this is a key by the word before it, which says how it is sent.
fn follows_a_scheme(before: &str, word: &str) -> bool {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    has_digit && word.len() >= AFTER_SCHEME && ends_with(before.trim_end_matches(BLANKS), &SCHEMES)
}

/// How many bytes of this are the value of a name that says that it is secret; none, if they are not.
fn value_of_name(before: &str, rest: &str) -> usize {
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
    // How it is sent is no secret, and what follows is, in whatever letters.
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
        Some(quote) => quoted(rest, quote),
        None => rest
            .find(|c: char| c.is_whitespace() || BLANKS.contains(&c))
            .unwrap_or(rest.len()),
    }
}

/// How many bytes come before this quote, or before the end of the line.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (place, c) in text.char_indices() {
        if c == '\n' || (c == quote && !is_escaped) {
            return place;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

/// Whether a text ends in one of these words, in whatever letters.
fn ends_with(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        let from = text.len().checked_sub(word.len());
        let end = from.and_then(|from| text.get(from..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(word))
    })
}

/// The name and the password at the beginning of an address behind its `://`, if it has them.
fn password(authority: &str) -> Option<(&str, &str)> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '<' | '>' | '"' | '`');
    let authority = &authority[..authority.find(ends).unwrap_or(authority.len())];
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':')
        .filter(|(_, password)| !password.is_empty() && *password != HIDDEN)
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
