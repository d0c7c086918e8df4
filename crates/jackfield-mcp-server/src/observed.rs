//! Reports requests of clients, and their sessions, to the observers of the engine.

use http::HeaderMap;
use jackfield_domain::trace::{TraceContext, TraceParent};
use jackfield_engine::{McpObservers, McpRequest, McpSide, McpSpan, McpTransport};
use rmcp::model::{
    ClientRequest, GetMeta as _, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult,
};
use serde_json::Value;
use tokio::time::Instant;

/// A request of a client that is observed. The observers learn of it when this is dropped.
#[derive(Debug)]
pub(crate) struct ObservedRequest {
    began: Instant,
    is_answered: bool,
    observers: McpObservers,
    request: McpRequest,
}

impl ObservedRequest {
    /// A request over HTTP that begins now; `None` without an observer. If it gets a span, what it calls belongs to
    /// that: the context in its `_meta` is replaced.
    pub(crate) fn begin(
        observers: &McpObservers,
        id: &RequestId,
        request: &mut ClientRequest,
        headers: &HeaderMap,
        session: Option<(&str, &str)>,
    ) -> Option<Self> {
        if observers.is_empty() {
            return None;
        }
        let meta = request.get_meta();
        let revision = meta
            .protocol_version()
            .map(|version| version.as_str().into());
        let is_known = !matches!(request, ClientRequest::CustomRequest(_));
        let method = if is_known { request.method() } else { OTHER };
        let mut observed = McpRequest::new(McpSide::Server, McpTransport::Tcp, method);
        observed.id = Some(id.to_string().into());
        observed.revision = session.map(|(_, revision)| revision.into()).or(revision);
        observed.session = session.map(|(id, _)| id.into());
        if let ClientRequest::CallToolRequest(call) = &*request {
            observed.tool = Some(cut(&call.params.name).into());
        } else if let ClientRequest::GetPromptRequest(get) = &*request {
            observed.prompt = Some(cut(&get.params.name).into());
        }
        if observers.export_traces() {
            observed.span = span(request, headers);
        }
        Some(Self {
            began: Instant::now(),
            is_answered: false,
            observers: observers.clone(),
            request: observed,
        })
    }

    /// A message goes to the client, perhaps the response.
    pub(crate) fn sent(&mut self, message: &ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Error(error) => self.request.refuse(error.error.code.0),
            JsonRpcMessage::Response(response) => {
                if let ServerResult::CallToolResult(result) = &response.result
                    && result.is_error == Some(true)
                {
                    self.request.error = Some(TOOL_ERROR.into());
                }
            }
            JsonRpcMessage::Notification(_) | JsonRpcMessage::Request(_) => return,
        }
        self.is_answered = true;
    }
}

impl Drop for ObservedRequest {
    fn drop(&mut self) {
        self.request.took = self.began.elapsed();
        if !self.is_answered {
            self.request.error = Some(CANCELLED.into());
        }
        self.observers.request_ended(&self.request);
    }
}

/// The span of a request, below the context in its `_meta`, or else that of its HTTP headers (MCP SEP-414, and
/// OpenTelemetry, semantic conventions for MCP, read 2026-11-26). `None` if the client does not record its trace.
fn span(request: &mut ClientRequest, headers: &HeaderMap) -> Option<McpSpan> {
    let context = |parent: Option<&str>, state: Option<&str>| TraceContext::parse(parent?, state);
    let meta = request.get_meta();
    let text = |key: &str| meta.get(key).and_then(Value::as_str);
    let sent = context(text(PARENT), text(STATE));
    let text = |key: &str| headers.get(key).and_then(|value| value.to_str().ok());
    let ambient = context(text(PARENT), text(STATE));
    let (parent, link) = match (sent, ambient) {
        (Some(sent), ambient) => {
            let other = ambient.filter(|ambient| ambient.parent != sent.parent);
            (Some(sent), other)
        }
        (None, ambient) => (ambient, None),
    };
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
    let own = TraceContext::new(trace, span, state);
    let meta = request.get_meta_mut();
    meta.insert(PARENT.to_owned(), (*own.parent).into());
    match &own.state {
        Some(state) => meta.insert(STATE.to_owned(), (**state).into()),
        None => meta.remove(STATE),
    };
    Some(McpSpan {
        context: own,
        link,
        parent,
    })
}

/// The beginning of a name that a client chose.
fn cut(name: &str) -> &str {
    name.get(..name.floor_char_boundary(MAX_NAME))
        .unwrap_or_default()
}

/// The error of a request that got no response.
const CANCELLED: &str = "cancelled";
/// The error of a call whose result is an error.
const TOOL_ERROR: &str = "tool_error";
/// Stands for all methods that are not known.
const OTHER: &str = "_OTHER";
/// The keys of the trace context, in `_meta` and in the headers.
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
/// The maximum length of a name, in bytes.
const MAX_NAME: usize = 256;
