//! Replies: maps a domain reply to a message, and has what streams and whole replies share.

mod ending;
mod outgoing;
pub(crate) mod server_calls;
pub(crate) mod state;

use jackfield_domain::block::Annotation;
use serde_json::Value;

use crate::DIALECT;

pub use ending::read_usage;
pub(crate) use ending::{finish_reason, stop_reason, usage_to_wire};
pub use outgoing::to_wire;
pub(crate) use outgoing::{input, text_of_media};

/// A citation in the vendor's form.
pub(crate) fn annotation(json: Value) -> Annotation {
    let (title, url) = annotation_source(&json);
    Annotation {
        dialect: DIALECT.into(),
        title: title.map(Into::into),
        url: url.map(Into::into),
        json,
    }
}

/// Title and URL of a citation's source.
pub(crate) fn annotation_source(json: &Value) -> (Option<String>, Option<String>) {
    let text = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
    (
        text("title").or_else(|| text("document_title")),
        text("url"),
    )
}
