//! Serving: what clients are told, and what is refused.

mod bytes;
mod encoded;
pub(crate) mod errors;
mod fields;
mod goldens;
mod laws;
pub(crate) mod segments;

use jackfield_dialect_kit::incoming::Incoming;
use jackfield_dialect_kit::serve::{ReplyInfo, ServeDialect as _, ServeError};
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use serde_json::{Value, json};

use super::read::owner;

/// What a reply says of itself, with this echo.
pub(crate) fn about(echo: Value) -> ReplyInfo {
    let Value::Object(echo) = echo else {
        panic!("no object: {echo}");
    };
    ReplyInfo {
        created: 1_795_000_000,
        echo,
        id: "turn_1_0".to_owned(),
        model: "custom-claude-4-sonnet".to_owned(),
        ..ReplyInfo::default()
    }
}

/// What is made of a body.
pub(crate) fn asked(body: &Value) -> Result<Incoming, ServeError> {
    let text = body.to_string();
    ChatCompletions::new().request(&|_| None, text.as_bytes(), &|_| owner())
}

/// What is made of a body with this field in it.
pub(crate) fn with(field: &str, json: Value) -> Result<Incoming, ServeError> {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "go" }] });
    body[field] = json;
    asked(&body)
}
