//! The events of a streamed reply, as a client reads them: one flat form with every field that some event has.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::reply::IncomingResponse;

/// An event. Some servers write all their fields, and null where there is nothing.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct IncomingEvent {
    #[serde(default)]
    pub(crate) annotation: Option<Value>,
    /// Text of JSON, or the JSON itself.
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

/// The type of an event alone, whatever the rest looks like.
#[derive(Debug, Deserialize)]
pub(crate) struct Kind {
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
}
