//! The answer of a turn against the form that was asked for.
//!
//! Providers enforce a form more or less, and some not at all; an answer can also be cut off. Who asked
//! for a form wants to know.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::settings::ResponseFormat;
use serde_json::Value;
use tokio::time::Instant;

use super::{Schema, SchemaVerdict, looked};

/// Whether an answer has the form that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerFit {
    /// It has: the answer as JSON.
    Fits(Value),
    /// Words were asked for, and anything is words.
    Free,
    /// It has not: what is wrong, and where, in a sentence or more.
    Misfit(String),
    /// It is JSON, and whether it fits the schema cannot be told.
    Unchecked {
        /// The answer as JSON.
        value: Value,
        /// Why, as the end of a sentence.
        why: String,
    },
}

impl AnswerFit {
    /// Whether an answer has the form that was asked for, as far as that can be told within this time.
    ///
    /// A schema that cannot be used is [`AnswerFit::Unchecked`] for every answer that is JSON, so that it
    /// can be tried with `null` before anybody is asked. References are followed within the schema alone.
    pub async fn of(format: &ResponseFormat, answer: &str, limit: Duration) -> Self {
        let schema = match format {
            ResponseFormat::JsonObject => None,
            ResponseFormat::JsonSchema { schema, .. } => Some(schema),
            ResponseFormat::Text => return Self::Free,
        };
        let value: Value = match serde_json::from_str(answer) {
            Ok(value) => value,
            Err(_) if answer.trim().is_empty() => {
                return Self::Misfit("it is empty".to_owned());
            }
            Err(error) => return Self::Misfit(format!("it is no JSON: {error}")),
        };
        let Some(schema) = schema else {
            if value.is_object() {
                return Self::Fits(value);
            }
            return Self::Misfit("it is JSON, and no JSON object".to_owned());
        };
        let value = Arc::new(value);
        let given = (Arc::clone(&value), "the answer");
        let known = Arc::new(Schema::default());
        let verdict = looked(known, schema, given, (None, Instant::now() + limit)).await;
        let value = Arc::unwrap_or_clone(value);
        let why = match verdict {
            SchemaVerdict::Fits => return Self::Fits(value),
            SchemaVerdict::Misfit(what) => return Self::Misfit(what),
            SchemaVerdict::Busy | SchemaVerdict::Late => "that takes too long".to_owned(),
            SchemaVerdict::Crashed => "that crashed".to_owned(),
            SchemaVerdict::Unusable(why) => why,
        };
        Self::Unchecked { value, why }
    }
}
