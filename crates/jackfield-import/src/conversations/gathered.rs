//! What is gathered of a conversation, and helpers for values of its JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::{LeftOut, SaidMessage, Speaker};

/// The messages so far, and what was left out.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) left_out: BTreeMap<LeftOut, usize>,
    pub(super) messages: Vec<SaidMessage>,
}

impl Gathered {
    /// Adds a text; neighbours of one speaker become one message.
    pub(super) fn say(&mut self, by: Speaker, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.by == by => {
                last.text.push_str("\n\n");
                last.text.push_str(text);
            }
            Some(_) | None => self.messages.push(SaidMessage {
                by,
                text: text.to_owned(),
            }),
        }
    }

    pub(super) fn leave_out(&mut self, what: LeftOut) {
        *self.left_out.entry(what).or_default() += 1;
    }
}

/// The items of a list; none for anything else.
pub(super) fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// The text of a field; empty for anything else.
pub(super) fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// An instant in milliseconds since 1970, from seconds, milliseconds, or smaller parts of one.
pub(super) fn millis(value: &Value) -> Option<i64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Object(_) => None,
    };
    let mut seconds: f64 = number.filter(|number| number.is_finite() && *number > 0.0)?;
    while seconds >= FAR {
        seconds /= 1_000.0;
    }
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// No conversation began so many seconds after 1970.
const FAR: f64 = 1e11;
