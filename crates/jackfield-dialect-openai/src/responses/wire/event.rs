//! The events of a streamed reply, as read: one flat type with the fields of all events.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::reply::IncomingResponse;

/// An event. Some servers send all fields, with null for missing values.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct IncomingEvent {
    #[serde(default)]
    pub(crate) annotation: Option<Value>,
    /// JSON text, or the JSON itself.
    #[serde(default)]
    pub(crate) arguments: Option<Value>,
    #[serde(default)]
    pub(crate) content_index: Option<i64>,
    #[serde(default)]
    pub(crate) delta: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<Value>,
    #[serde(default)]
    pub(crate) input: Option<String>,
    #[serde(default)]
    pub(crate) item: Option<Map<String, Value>>,
    #[serde(default)]
    pub(crate) item_id: Option<String>,
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) output_index: Option<i64>,
    #[serde(default)]
    pub(crate) part: Option<Map<String, Value>>,
    #[serde(default)]
    pub(crate) refusal: Option<String>,
    #[serde(default)]
    pub(crate) response: Option<IncomingResponse>,
    #[serde(default)]
    pub(crate) summary_index: Option<i64>,
    #[serde(default)]
    pub(crate) text: Option<String>,
}

/// Only the type of an event, in any form.
#[derive(Debug, Deserialize)]
pub(crate) struct Kind {
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
}
