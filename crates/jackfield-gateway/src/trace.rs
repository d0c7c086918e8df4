//! The trace context of a request.

use std::sync::Arc;

use http::HeaderMap;
use jackfield_domain::trace::TraceContext;

/// The client's trace context, if it has the form of one.
#[must_use]
pub fn trace_context(headers: &HeaderMap) -> Option<Arc<TraceContext>> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let context = TraceContext::parse(text("traceparent")?, text("tracestate"))?;
    Some(Arc::new(context))
}
