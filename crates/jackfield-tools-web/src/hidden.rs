//! Redacts secrets from results, in every form in which a server may repeat them.

use jackfield_provider_kit::secret::Secret;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use url::form_urlencoded;

use crate::template::ENCODED;

/// The secrets of one tool in the forms to search for, in lower case, as hosts and media types are lower-cased, and
/// `%2F` equals `%2f`.
pub(crate) struct Hidden(Vec<Secret>);

impl Hidden {
    /// These secrets. Texts shorter than [`MINIMUM`] bytes are ignored, as they would match everywhere.
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut forms: Vec<String> = Vec::new();
        for secret in secrets {
            let secret = secret.expose();
            if secret.len() < MINIMUM {
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
                // Some serializers escape slashes in JSON.
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
        // Of two secrets with a common prefix the longer one is replaced first, so that none of it remains.
        forms.sort_by(|one, other| (other.len(), one).cmp(&(one.len(), other)));
        forms.dedup();
        Self(forms.iter().map(|form| Secret::new(form)).collect())
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Lower-casing ASCII keeps all byte positions.
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

    /// Redacts a text that was cut at or before this many bytes, including the beginning of a secret at the cut.
    pub(crate) fn redact_partial(&self, text: &str, limit: usize) -> String {
        // An incomplete character at the end is dropped.
        let whole = text.strip_suffix(char::REPLACEMENT_CHARACTER);
        let mut text = self.redact(whole.unwrap_or(text));
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

    /// Redacts all strings in a JSON value, in any formatting.
    pub(crate) fn redact_json(&self, json: Value) -> Value {
        match json {
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.redact_json(item))
                .collect(),
            Value::Bool(_) | Value::Null | Value::Number(_) => json,
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, field)| (self.redact(&name), self.redact_json(field)))
                .collect(),
            Value::String(text) => Value::String(self.redact(&text)),
        }
    }

    /// Whether there are no secrets.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The length in bytes of the text's suffix that is the beginning of a secret.
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

/// The length of the shortest secret, in bytes.
const MINIMUM: usize = 6;
/// The replacement for a secret.
const REDACTED: &str = "[redacted]";
