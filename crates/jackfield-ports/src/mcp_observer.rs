//! The port to an observer of requests of the Model Context Protocol: ours to servers, and those of clients to us.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::trace::TraceContext;

/// Sees each request and each session of the protocol that has ended.
///
/// The methods are called between two messages of a connection: they MUST NOT block, and MUST NOT take long.
pub trait McpObserver: fmt::Debug + Send + Sync {
    /// A request has ended.
    fn request_ended(&self, request: &McpRequest);

    /// A session has ended.
    fn session_ended(&self, session: &McpSession);

    /// Whether it exports a span for each request of a client, so that what the request calls belongs to that span.
    fn exports_traces(&self) -> bool {
        false
    }
}

/// On which side of a connection we are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum McpSide {
    /// We asked a server.
    Client,
    /// A client asked us.
    Server,
}

/// What carries the messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum McpTransport {
    /// Standard input and output of a process.
    Pipe,
    /// HTTP.
    Tcp,
}

/// A request that has ended, without its parameters and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct McpRequest {
    /// The host and the port of the server, if it is reached over HTTP and is not ours.
    pub address: Option<(Arc<str>, Option<u16>)>,
    /// Why it failed: the code of an error response, `tool_error` for a result that is an error, or a word; `None` if
    /// it did not fail (OpenTelemetry, semantic conventions for MCP, read 2026-11-26).
    pub error: Option<Arc<str>>,
    /// The id of the request, as text.
    pub id: Option<Arc<str>>,
    /// The method, such as `tools/call`; `_OTHER` for one that is not known.
    pub method: Arc<str>,
    /// The name of the prompt that it asks for.
    pub prompt: Option<Arc<str>>,
    /// The revision of the protocol.
    pub revision: Option<Arc<str>>,
    /// The configured id of the server, if it is not ours.
    pub server: Option<Arc<str>>,
    /// The id of the session over HTTP.
    pub session: Option<Arc<str>>,
    /// On which side we are.
    pub side: McpSide,
    /// The span of the request, if it has one: of a request of a client, while traces are exported.
    pub span: Option<McpSpan>,
    /// The code of the error response.
    pub status: Option<i32>,
    /// The time from the request to its response.
    pub took: Duration,
    /// The name of the tool that it calls.
    pub tool: Option<Arc<str>>,
    /// What carried it.
    pub transport: McpTransport,
}

impl McpRequest {
    /// A request of this method, of which no more is known.
    #[must_use]
    pub fn new(side: McpSide, transport: McpTransport, method: impl Into<Arc<str>>) -> Self {
        Self {
            address: None,
            error: None,
            id: None,
            method: method.into(),
            prompt: None,
            revision: None,
            server: None,
            session: None,
            side,
            span: None,
            status: None,
            took: Duration::ZERO,
            tool: None,
            transport,
        }
    }

    /// It was answered with an error of this code.
    pub fn refuse(&mut self, code: i32) {
        self.error = Some(code.to_string().into());
        self.status = Some(code);
    }
}

/// The span of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSpan {
    /// Its own context, which what it calls gets.
    pub context: TraceContext,
    /// The span of the HTTP request, if it is in another trace than the parent.
    pub link: Option<TraceContext>,
    /// The client's context, if it sent one.
    pub parent: Option<TraceContext>,
}

/// A session that has ended: from the handshake to the end of a process, or to the last use over HTTP.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSession {
    /// Why it ended, in a word, unless its end was asked for.
    pub error: Option<Arc<str>>,
    /// The revision of the protocol.
    pub revision: Arc<str>,
    /// The configured id of the server, if it is not ours.
    pub server: Option<Arc<str>>,
    /// On which side we are.
    pub side: McpSide,
    /// How long it lasted.
    pub took: Duration,
    /// What carried it.
    pub transport: McpTransport,
}

/// Observers that all see the same. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct McpObservers(Arc<Vec<Arc<dyn McpObserver>>>);

impl McpObservers {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them exports a span for each request of a client.
    #[must_use]
    pub fn export_traces(&self) -> bool {
        self.0.iter().any(|observer| observer.exports_traces())
    }

    /// A request has ended.
    pub fn request_ended(&self, request: &McpRequest) {
        for observer in self.0.iter() {
            observer.request_ended(request);
        }
    }

    /// A session has ended.
    pub fn session_ended(&self, session: &McpSession) {
        for observer in self.0.iter() {
            observer.session_ended(session);
        }
    }
}

impl FromIterator<Arc<dyn McpObserver>> for McpObservers {
    fn from_iter<I: IntoIterator<Item = Arc<dyn McpObserver>>>(observers: I) -> Self {
        Self(Arc::new(observers.into_iter().collect()))
    }
}
