//! The vendor's forms: fields, and nothing else. To do: all of them, from the vendor's documentation.

use serde::{Deserialize, Serialize};

/// The body of a request.
#[derive(Debug, Serialize)]
pub(crate) struct Request {
    pub(crate) max_tokens: Option<u32>,
    pub(crate) messages: Vec<Message>,
    pub(crate) model: String,
    pub(crate) system: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Message {
    pub(crate) role: &'static str,
    pub(crate) text: String,
}

/// One event of a reply. Unknown fields are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    pub(crate) done: Option<String>,
    pub(crate) text: Option<String>,
}

/// The body of an error.
#[derive(Debug, Deserialize)]
pub(crate) struct ErrorBody {
    pub(crate) error: Failure,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Failure {
    pub(crate) message: String,
}
