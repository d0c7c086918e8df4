//! The parts of spans: attributes, times and errors.

use jackfield_domain::time::WallTime;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use crate::names::span as names;

/// Marks a span as failed, unless the kind of failure is empty. Messages of failures may quote a conversation: they are
/// left out.
pub(crate) fn fail(span: &mut Span, kind: &str) {
    if !kind.is_empty() {
        span.attributes.push(text(names::ERROR, kind));
        span.status = Some(Status {
            code: StatusCode::Error.into(),
            message: String::new(),
        });
    }
}

pub(crate) fn nanos(at: WallTime) -> u64 {
    u64::try_from(at.as_millis())
        .unwrap_or_default()
        .saturating_mul(1_000_000)
}

pub(crate) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    attribute(key, any_value::Value::StringValue(bounded(value.into())))
}

/// A text up to a bound: clients choose names of models, tools and prompts, and ids of requests.
pub(crate) fn bounded(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    text
}

pub(crate) fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, any_value::Value::IntValue(value))
}

pub(crate) fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

/// The maximum length of the name of a span and of an attribute, in bytes.
const MAX_TEXT: usize = 512;
