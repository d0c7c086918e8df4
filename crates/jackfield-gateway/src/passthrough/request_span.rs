//! The span of a request that is passed through.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue, StatusCode};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::time::WallTime;
use jackfield_domain::trace::{TraceContext, TraceParent};
use jackfield_engine::{Engine, PassedRequest};

use super::record::endpoint;
use super::{ReceivedRequest, trace_context};

/// The span of a request in the making. The engine's observers learn of it when this is dropped.
pub(super) struct RequestSpan {
    began: Instant,
    engine: Engine,
    request: PassedRequest,
}

impl RequestSpan {
    /// The span of a request that has arrived, and the request with the context of the span instead of the client's;
    /// `None` unless traces are exported and the client records its trace.
    pub(super) fn begin(
        engine: &Engine,
        request: &ReceivedRequest,
    ) -> Option<(Self, ReceivedRequest)> {
        if !engine.exports_traces() {
            return None;
        }
        let parent = trace_context(&request.headers);
        let known = (parent.as_ref()).and_then(|parent| TraceParent::parse(&parent.parent));
        if known.is_some_and(|known| !known.is_sampled) {
            return None;
        }
        // Without random numbers there is no span, as its id would be another one's.
        let (mut trace, mut span) = ([0; 16], [0; 8]);
        getrandom::fill(&mut trace).ok()?;
        getrandom::fill(&mut span).ok()?;
        let trace = known.map_or(trace, |known| known.trace);
        let state = parent.as_ref().and_then(|parent| parent.state.clone());
        let context = TraceContext::new(trace, span, state);
        let mut traced = request.clone();
        set_context(&mut traced.headers, &context);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let begun = Self {
            began: Instant::now(),
            engine: engine.clone(),
            request: PassedRequest {
                at: WallTime::from_millis(0).after(now.unwrap_or_default()),
                context,
                endpoint: endpoint(&request.path),
                // Unless a reply or an error says otherwise, the client has gone.
                error: Some(CANCELLED.into()),
                method: request.method.as_str().into(),
                parent,
                status: None,
                took: std::time::Duration::ZERO,
            },
        };
        Some((begun, traced))
    }

    /// The client gets a reply of this status.
    pub(super) fn replied(&mut self, status: StatusCode) {
        self.request.status = Some(status.as_u16());
        let is_error = status.is_server_error();
        self.request.error = is_error.then(|| status.as_str().into());
    }

    /// The client gets this error, or its reply breaks off because of it.
    pub(super) fn failed(&mut self, error: &ServeError) {
        self.request.error = Some(error.kind.code().into());
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        self.request.took = self.began.elapsed();
        self.engine.request_passed(&self.request);
    }
}

/// Sets the trace context of headers.
pub(super) fn set_context(headers: &mut HeaderMap, context: &TraceContext) {
    let values = [
        ("traceparent", Some(&context.parent)),
        ("tracestate", context.state.as_ref()),
    ];
    for (name, value) in values {
        let value = value.and_then(|value: &Arc<str>| HeaderValue::from_str(value).ok());
        match value {
            Some(value) => headers.insert(name, value),
            None => headers.remove(name),
        };
    }
}

/// The error of a request whose client has gone before the reply.
const CANCELLED: &str = "cancelled";
