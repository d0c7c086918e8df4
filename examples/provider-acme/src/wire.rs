//! Acme's forms: fields, and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of `POST /v1/talk`.
#[derive(Debug, Serialize)]
pub(crate) struct Request {
    pub(crate) limit: Option<u32>,
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) tools: Vec<Tool>,
    pub(crate) turns: Vec<Turn>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Tool {
    pub(crate) about: String,
    pub(crate) name: String,
    pub(crate) takes: Value,
}

#[derive(Debug, Serialize)]
#[serde(tag = "who", rename_all = "lowercase")]
pub(crate) enum Turn {
    Model { calls: Vec<Call>, text: String },
    Tool { call: String, text: String },
    User { text: String },
}

/// A call; in an event its arguments follow, in pieces.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Call {
    #[serde(default)]
    pub(crate) args: String,
    #[serde(default)]
    pub(crate) id: String,
    pub(crate) tool: String,
}

/// One event of a reply. Unknown fields are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    pub(crate) args: Option<String>,
    pub(crate) call: Option<Call>,
    pub(crate) end: Option<String>,
    pub(crate) error: Option<Failure>,
    pub(crate) text: Option<String>,
    pub(crate) used: Option<Used>,
}

/// What went wrong: in an event, and as the body of an error.
#[derive(Debug, Deserialize)]
pub(crate) struct Failure {
    pub(crate) say: String,
    pub(crate) what: String,
}

/// The body of an error.
#[derive(Debug, Deserialize)]
pub(crate) struct ErrorBody {
    pub(crate) error: Failure,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Used {
    pub(crate) cached: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
}
