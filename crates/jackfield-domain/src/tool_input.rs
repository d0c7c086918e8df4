//! The arguments of a tool call: the raw text that the model wrote, and its parsed form.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The arguments of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolInput {
    /// JSON, for almost all tools.
    Json(JsonInput),
    /// Free text, for tools that take text, possibly with a grammar.
    Text(Arc<str>),
}

/// JSON arguments: raw text and parse result, so that malformed arguments can be reported to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonInput {
    parsed: Result<Arc<Map<String, Value>>, Arc<str>>,
    raw: Arc<str>,
}

impl JsonInput {
    /// Parses the model's text. Empty text means no arguments, which is `{}`.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        if raw.trim().is_empty() {
            return Self {
                parsed: Ok(Arc::new(Map::new())),
                raw: raw.into(),
            };
        }
        let parsed = match serde_json::from_str::<Value>(raw) {
            Ok(Value::Object(fields)) => Ok(Arc::new(fields)),
            Ok(other) => Err(format!("a JSON object was expected, not {}", kind(&other)).into()),
            Err(fault) => Err(fault.to_string().into()),
        };
        Self {
            parsed,
            raw: raw.into(),
        }
    }

    /// The parsed arguments.
    ///
    /// # Errors
    ///
    /// A sentence for the model: where the JSON is broken, or that it is not an object.
    pub fn object(&self) -> Result<&Arc<Map<String, Value>>, &str> {
        self.parsed.as_ref().map_err(|fault| &**fault)
    }

    /// The model's text; may be empty, which means `{}`.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }
}

impl From<Map<String, Value>> for JsonInput {
    fn from(fields: Map<String, Value>) -> Self {
        let raw = serde_json::to_string(&fields).unwrap_or_default();
        Self {
            parsed: Ok(Arc::new(fields)),
            raw: raw.into(),
        }
    }
}

/// The name of a JSON value's type.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "an array",
        Value::Bool(_) => "a boolean",
        Value::Null => "null",
        Value::Number(_) => "a number",
        Value::Object(_) => "an object",
        Value::String(_) => "a string",
    }
}
