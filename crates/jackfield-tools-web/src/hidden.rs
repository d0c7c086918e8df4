//! What no outcome may have in it: secrets, in every way in which a server may repeat one.

use jackfield_provider_kit::secret::Secret;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use url::form_urlencoded;

use crate::template::ENCODED;

/// The secrets of one tool, as they would be found in a text, in small letters: hosts and media types
/// have no others, and `%2F` is `%2f` as well.
pub(crate) struct Hidden(Vec<Secret>);

impl Hidden {
    /// These secrets. What is shorter than [`LEAST`] bytes is none, and would be found everywhere.
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut forms: Vec<String> = Vec::new();
        for secret in secrets {
            let secret = secret.expose();
            if secret.len() < LEAST {
                continue;
            }
            let quoted = Value::from(secret).to_string();
            let quoted = quoted
                .get(1..quoted.len() - 1)
                .unwrap_or_default()
                .to_owned();
            let form = form_urlencoded::byte_serialize(secret.as_bytes());
            forms.extend([
                secret.to_owned(),
                // Some write a slash in JSON so.
                quoted.replace('/', "\\/"),
                quoted,
                form.collect(),
                utf8_percent_encode(secret, ENCODED).to_string(),
                utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string(),
            ]);
        }
        for form in &mut forms {
            form.make_ascii_lowercase();
        }
        // Of two that begin alike the longer one goes first, so that nothing of it is left.
        forms.sort_by(|one, other| (other.len(), one).cmp(&(one.len(), other)));
        forms.dedup();
        Self(forms.iter().map(|form| Secret::new(form)).collect())
    }

    /// A text without them.
    pub(crate) fn out_of(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Of the same length, byte for byte.
        let mut lower = text.to_ascii_lowercase();
        for secret in &self.0 {
            let (mut clean, mut from) = (String::new(), 0);
            for (at, found) in lower.match_indices(secret.expose()) {
                clean.push_str(text.get(from..at).unwrap_or_default());
                clean.push_str(REDACTED);
                from = at + found.len();
            }
            if from > 0 {
                clean.push_str(text.get(from..).unwrap_or_default());
                lower = clean.to_ascii_lowercase();
                text = clean;
            }
        }
        text
    }

    /// A text that was cut at this many bytes or before, without them, and without the beginning of one
    /// that stood where it was cut.
    pub(crate) fn out_of_part(&self, text: &str, limit: usize) -> String {
        // Half a letter at the end is no letter.
        let whole = text.strip_suffix(char::REPLACEMENT_CHARACTER);
        let mut text = self.out_of(whole.unwrap_or(text));
        text.truncate(text.floor_char_boundary(limit));
        loop {
            let before = text.len();
            for secret in &self.0 {
                text.truncate(text.len() - begun(&text, secret.expose()));
            }
            if text.len() == before {
                return text;
            }
        }
    }

    /// JSON without them, however they were written there.
    pub(crate) fn out_of_json(&self, json: Value) -> Value {
        match json {
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.out_of_json(item))
                .collect(),
            Value::Bool(_) | Value::Null | Value::Number(_) => json,
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, field)| (self.out_of(&name), self.out_of_json(field)))
                .collect(),
            Value::String(text) => Value::String(self.out_of(&text)),
        }
    }

    /// Whether there is any.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How many bytes at the end of a text are the beginning of a secret.
fn begun(text: &str, secret: &str) -> usize {
    let lengths = (1..=secret.len().min(text.len())).rev();
    let mut begun = lengths.filter(|length| {
        let beginning = secret.as_bytes().get(..*length);
        let end = text.get(text.len() - length..).map(str::as_bytes);
        beginning
            .zip(end)
            .is_some_and(|(beginning, end)| beginning.eq_ignore_ascii_case(end))
    });
    begun.next().unwrap_or(0)
}

/// The fewest bytes of a secret.
const LEAST: usize = 6;
/// What stands in place of one.
const REDACTED: &str = "[redacted]";
