//! The spans of requests of the Model Context Protocol.

use jackfield_domain::trace::{TraceContext, TraceParent};
use jackfield_engine::{McpRequest, McpSpan};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};

use crate::mcp_figures::transport;
use crate::names::span as names;
use crate::span_parts::{bounded, fail, number, text};

/// The span of a request of a client that ended at this instant, in nanoseconds since 1970; `None` without a place in a
/// trace.
pub(crate) fn of_request(request: &McpRequest, ended: u64) -> Option<Span> {
    let McpSpan {
        context,
        link,
        parent,
    } = request.span.as_ref()?;
    let own = TraceParent::parse(&context.parent)?;
    let parse = |context: &TraceContext| TraceParent::parse(&context.parent);
    let parent = parent.as_ref().and_then(parse);
    let links = link.as_ref().and_then(parse).map(|linked| Link {
        span_id: linked.span.to_vec(),
        trace_id: linked.trace.to_vec(),
        ..Link::default()
    });
    let subject = request.tool.as_ref().or(request.prompt.as_ref());
    let name = match subject {
        Some(subject) => format!("{} {subject}", request.method),
        None => request.method.to_string(),
    };
    let mut attributes = attributes(request);
    if let Some(tool) = &request.tool {
        attributes.push(text(names::OPERATION, names::EXECUTE_TOOL));
        attributes.push(text(names::TOOL, &**tool));
    }
    if let Some(prompt) = &request.prompt {
        attributes.push(text(names::PROMPT, &**prompt));
    }
    let took = u64::try_from(request.took.as_nanos()).unwrap_or(u64::MAX);
    let mut span = Span {
        attributes,
        end_time_unix_nano: ended,
        kind: SpanKind::Server.into(),
        links: links.into_iter().collect(),
        name: bounded(name),
        parent_span_id: parent.map_or_else(Vec::new, |parent| parent.span.to_vec()),
        span_id: own.span.to_vec(),
        start_time_unix_nano: ended.saturating_sub(took),
        trace_id: own.trace.to_vec(),
        trace_state: context.state.as_deref().unwrap_or_default().to_owned(),
        ..Span::default()
    };
    fail(&mut span, request.error.as_deref().unwrap_or_default());
    Some(span)
}

/// The attributes of a request, but for its error and the name of its tool or prompt, which depend on the span.
pub(crate) fn attributes(request: &McpRequest) -> Vec<KeyValue> {
    let mut attributes = vec![
        text(names::MCP_METHOD, &*request.method),
        text(names::TRANSPORT, transport(request.transport)),
    ];
    for (key, value) in [
        (names::MCP_REVISION, &request.revision),
        (names::MCP_SESSION, &request.session),
        (names::RPC_ID, &request.id),
    ] {
        attributes.extend(value.as_ref().map(|value| text(key, &**value)));
    }
    // The conventions have the code as text.
    let code = request.status.map(|code| code.to_string());
    attributes.extend(code.map(|code| text(names::RPC_STATUS, code)));
    if let Some((host, port)) = &request.address {
        attributes.push(text(names::ADDRESS, &**host));
        attributes.extend(port.map(|port| number(names::PORT, i64::from(port))));
    }
    attributes
}
