//! The body of an error, in all forms that servers were observed to send.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How many validation errors of a body are quoted.
const COMPLAINTS: usize = 5;

/// How much of an unreadable reply is quoted, in characters.
const WRITTEN: usize = 200;

/// The body of an error: `{"error": {…}}`.
///
/// Any JSON is accepted: `{"error": "text"}` and `{"message": …}` of proxies, `{"object": "error", …}` of Mistral
/// and vLLM, `{"detail": …}` of FastAPI with a string or a list, and a list with an error in it. A value without
/// information becomes an empty error.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(from = "Value")]
pub struct ErrorBody {
    pub error: ErrorDetail,
}

/// An error, also that of a chunk, of an `error` event or of a response that failed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(from = "Value")]
pub struct ErrorDetail {
    pub code: Option<String>,
    /// The type of the error.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
    /// llama.cpp: how many tokens fit.
    #[serde(skip)]
    pub n_ctx: Option<u64>,
    /// llama.cpp: how many tokens the request has.
    #[serde(skip)]
    pub n_prompt_tokens: Option<u64>,
    /// The parameter that the error concerns.
    pub param: Option<String>,
}

impl ErrorDetail {
    /// Whether there is no information at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.code.is_none() && self.kind.is_empty() && self.message.trim().is_empty()
    }
}

impl From<Value> for ErrorBody {
    fn from(json: Value) -> Self {
        Self { error: json.into() }
    }
}

impl From<Value> for ErrorDetail {
    fn from(json: Value) -> Self {
        read(&json)
    }
}

fn read(json: &Value) -> ErrorDetail {
    let fields = match json {
        Value::Array(list) => {
            let detail = list.iter().map(read).find(|detail| !detail.is_empty());
            return detail.unwrap_or_default();
        }
        Value::Object(fields) => fields,
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
            return ErrorDetail {
                message: words(json),
                ..ErrorDetail::default()
            };
        }
    };
    if let Some(inner) = fields.get("error").map(read)
        && !inner.is_empty()
    {
        // Fields beside the inner error fill its gaps: `{"error": "text", "code": 402}`.
        let outer = plain(fields);
        return ErrorDetail {
            code: inner.code.or(outer.code),
            kind: first([inner.kind, outer.kind]),
            message: first([inner.message, outer.message]),
            ..inner
        };
    }
    plain(fields)
}

/// An error whose fields are in this object.
fn plain(fields: &Map<String, Value>) -> ErrorDetail {
    let text = |key: &str| fields.get(key).map(words).unwrap_or_default();
    let number = |key: &str| fields.get(key).and_then(Value::as_u64);
    // The type `error` is that of an event, and tells nothing about the error.
    let kind = fields.get("type").and_then(Value::as_str);
    let kind = kind.filter(|kind| *kind != "error").unwrap_or_default();
    let code = fields.get("code").map(scalar).unwrap_or_default();
    let param = fields.get("param").map(scalar).unwrap_or_default();
    let mut message = first([text("message"), text("detail"), text("msg")]);
    // Groq: the model's output that Groq could not parse.
    if let Some(written) = fields.get("failed_generation").and_then(Value::as_str) {
        let written: String = written.chars().take(WRITTEN).collect();
        message = format!("{message} The model wrote: {written}");
    }
    // OpenRouter only reports that a provider failed, and quotes the provider's error.
    let raw = fields.get("metadata").and_then(|meta| meta.get("raw"));
    if let Some(raw) = raw.and_then(Value::as_str) {
        message = format!("{message}: {raw}");
    }
    ErrorDetail {
        code: (!code.is_empty()).then_some(code),
        kind: kind.to_owned(),
        message,
        n_ctx: number("n_ctx"),
        n_prompt_tokens: number("n_prompt_tokens"),
        param: (!param.is_empty()).then_some(param),
    }
}

/// A value as text for people: its string, or the validation errors in it with their paths.
fn words(json: &Value) -> String {
    match json {
        Value::Array(list) => {
            let messages: Vec<String> = list
                .iter()
                .map(words)
                .filter(|text| !text.is_empty())
                .take(COMPLAINTS)
                .collect();
            messages.join("; ")
        }
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).map(words).unwrap_or_default();
            let message = first([text("msg"), text("message"), text("detail")]);
            let steps = fields.get("loc").and_then(Value::as_array);
            let steps: Vec<String> = steps.into_iter().flatten().map(scalar).collect();
            if steps.is_empty() || message.is_empty() {
                message
            } else {
                format!("{}: {message}", steps.join("."))
            }
        }
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Null | Value::Number(_) => String::new(),
    }
}

/// A string or number as a string; codes come as either.
fn scalar(json: &Value) -> String {
    match json {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Object(_) => String::new(),
    }
}

/// The first text that is not empty.
fn first<const N: usize>(texts: [String; N]) -> String {
    let mut texts = texts.into_iter();
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}
