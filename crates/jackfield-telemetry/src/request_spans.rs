//! The spans of requests that are passed through, and of their calls of providers.

use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::trace::{TraceContext, TraceParent};
use jackfield_engine::PassedRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

use crate::names::span as names;
use crate::passed::{self, error_of};
use crate::span_parts::{attribute, bounded, fail, nanos, number, text};

pub(crate) fn of_request(request: &PassedRequest) -> Option<Span> {
    let parent = request.parent.as_ref();
    let parent = parent.and_then(|parent| TraceParent::parse(&parent.parent));
    let PassedRequest {
        endpoint, method, ..
    } = request;
    let mut span = Span {
        attributes: vec![
            text(names::METHOD, &**method),
            text(names::PATH, &**endpoint),
        ],
        end_time_unix_nano: nanos(request.at.after(request.took)),
        kind: SpanKind::Server.into(),
        name: bounded(format!("{method} {endpoint}")),
        parent_span_id: parent.map_or_else(Vec::new, |parent| parent.span.to_vec()),
        start_time_unix_nano: nanos(request.at),
        ..span_of(&request.context)?
    };
    let status = request.status;
    let status = status.map(|status| number(names::STATUS, i64::from(status)));
    span.attributes.extend(status);
    fail(&mut span, request.error.as_deref().unwrap_or_default());
    Some(span)
}

/// The span of a call of a provider; `None` unless its request was passed through and has a span.
pub(crate) fn of_call(record: &SpendingRecord) -> Option<Span> {
    let context = record
        .trace
        .as_ref()
        .filter(|_| passed::is_passed(record))?;
    let parent = TraceParent::parse(&context.parent)?;
    let operation = passed::operation(&record.endpoint);
    let model = &record.model;
    let mut span = Span {
        end_time_unix_nano: nanos(record.at.after(record.took)),
        kind: SpanKind::Client.into(),
        name: match operation {
            Some(operation) => bounded(format!("{operation} {}", model.model)),
            None => record.endpoint.to_string(),
        },
        parent_span_id: parent.span.to_vec(),
        start_time_unix_nano: nanos(record.at),
        ..span_of(&context.child(&record.id)?)?
    };
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let usage = &record.usage;
    span.attributes = vec![
        text(names::PROVIDER, &*model.provider),
        text(names::MODEL, &*model.model),
        text(names::PATH, &*record.endpoint),
        number(names::INPUT_TOKENS, count(usage.input)),
        number(names::OUTPUT_TOKENS, count(usage.output)),
        number(names::CACHE_READ_TOKENS, count(usage.cache_read)),
        number(names::CACHE_WRITE_TOKENS, count(usage.cache_write)),
    ];
    let operation = operation.map(|operation| text(names::OPERATION, operation));
    span.attributes.extend(operation);
    let status = record.status;
    let status = status.map(|status| number(names::STATUS, i64::from(status)));
    span.attributes.extend(status);
    let first = record.first_token.map(|first| {
        let value = any_value::Value::DoubleValue(first.as_secs_f64());
        attribute(names::FIRST_CHUNK, value)
    });
    span.attributes.extend(first);
    fail(&mut span, &error_of(record));
    Some(span)
}

fn span_of(context: &TraceContext) -> Option<Span> {
    let own = TraceParent::parse(&context.parent)?;
    Some(Span {
        span_id: own.span.to_vec(),
        trace_id: own.trace.to_vec(),
        trace_state: context.state.as_deref().unwrap_or_default().to_owned(),
        ..Span::default()
    })
}
