//! Checks the answer of a turn against the requested response format.
//!
//! Providers enforce a format to different degrees, some not at all, and an answer can be cut off. A caller
//! that requests a format needs to know whether the answer has it.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::settings::ResponseFormat;
use serde_json::Value;
use tokio::time::Instant;

use super::{Schema, SchemaSide, SchemaVerdict, check_on_thread};

/// Whether an answer has the requested format.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerFit {
    /// It has: the answer as JSON.
    Fits(Value),
    /// Text was requested, which every answer is.
    Free,
    /// It has not: the errors and their locations, in one or more sentences.
    Misfit(String),
    /// It is JSON, but the schema could not be applied.
    Unchecked {
        /// The answer as JSON.
        value: Value,
        /// The reason, as the end of a sentence.
        why: String,
    },
}

impl AnswerFit {
    /// Checks whether an answer has the requested format, within `limit`.
    ///
    /// An unusable schema gives [`AnswerFit::Unchecked`] for every answer that is JSON, so it can be tested
    /// with `null` before a model is called. References are resolved within the schema only.
    pub async fn check(format: &ResponseFormat, answer: &str, limit: Duration) -> Self {
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
        let given = (Arc::clone(&value), SchemaSide::Output);
        let compiled = Arc::new(Schema::default());
        let verdict =
            check_on_thread(compiled, schema, given, (None, Instant::now() + limit)).await;
        let value = Arc::unwrap_or_clone(value);
        let why = match verdict {
            SchemaVerdict::Fits | SchemaVerdict::FitsWithoutNulls(_) => return Self::Fits(value),
            SchemaVerdict::Misfit(what) => return Self::Misfit(what),
            SchemaVerdict::Busy | SchemaVerdict::Late => "that takes too long".to_owned(),
            SchemaVerdict::Crashed => "that crashed".to_owned(),
            SchemaVerdict::Unusable(why) => why,
        };
        Self::Unchecked { value, why }
    }
}
