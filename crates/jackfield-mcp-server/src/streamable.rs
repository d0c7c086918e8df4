//! Serves tools over Streamable HTTP, without a web framework: requests come in as headers and a body, and replies
//! go out as values.
//!
//! A request of the revision 2026-07-28 stands alone. Older revisions begin with `initialize` and continue in a
//! session (MCP specification, "Transports" of both). Each request runs as a connection of its own: the same handler
//! as over two streams, above another transport.

mod exchange;
mod reply;
mod sessions;

use std::sync::Arc;

use http::HeaderMap;
use jackfield_domain::digest::Digest;
use rmcp::ServerHandler as _;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta as _,
    InitializeRequestParams, JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::service::serve_directly;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::exchange::SingleRequest;
pub use self::reply::{HttpReply, MessageStream};
use self::sessions::{ClientSession, Sessions};
use crate::changes::{ClientChange, ContextWatches};
use crate::client_message::ClientMessage;
use crate::handler::RequestHandler;
use crate::life::ConnectionLife;
use crate::observed::ObservedRequest;
use crate::questions::WaitingRequests;
use crate::request_headers::{self as headers, Accepts};
use crate::server::ToolServer;
use crate::writer::{LossLog, MessageKind, QUEUE, QueuedMessage};

/// The sessions of a server that is reached over HTTP. Clones share them.
///
/// Which tools a client may use is decided by its caller, with a [`ToolServer`] for each request.
#[derive(Clone, Debug, Default)]
pub struct HttpService {
    /// Ends all streams that wait for changes.
    closing: ConnectionLife,
    sessions: Arc<Sessions>,
    waiting: Arc<WaitingRequests>,
}

impl HttpService {
    /// A service without sessions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the streams that wait for changes: the process is about to end.
    pub fn close(&self) {
        self.closing.close();
    }

    /// Answers the body of a POST request. `client` says who asks: a session belongs to the client that began it.
    ///
    /// Dropping the future cancels the call, and so does dropping the stream of its reply, except in a session: the
    /// older revisions cancel with a notification.
    pub async fn post(
        &self,
        server: &ToolServer,
        client: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> HttpReply {
        let accepts = Accepts::of(headers);
        if accepts == Accepts::Neither {
            return HttpReply::refused(406, None, ErrorCode::INVALID_REQUEST, NOT_ACCEPTABLE);
        }
        let max = server.settings.max_message;
        match ClientMessage::parse(body, max) {
            ClientMessage::Cancelled(id) => self.note(client, headers, Some(&id)),
            ClientMessage::Ignored | ClientMessage::Notification(_) => {
                self.note(client, headers, None)
            }
            ClientMessage::Refused { .. } if body.len() > max => {
                let message = format!("a message may have at most {max} bytes");
                HttpReply::refused(413, None, ErrorCode::INVALID_REQUEST, message)
            }
            ClientMessage::Refused { error, id } => {
                let status = match error.code {
                    // Wrong parameters are an error of the method, and not of the transport.
                    ErrorCode::INVALID_PARAMS => 200,
                    ErrorCode::METHOD_NOT_FOUND => 404,
                    _ => 400,
                };
                HttpReply::error(status, id.as_ref(), &error)
            }
            ClientMessage::Response { id, response } => {
                self.answered(client, headers, &id, *response).await
            }
            ClientMessage::Request { id, request } => {
                let asked = Asked {
                    accepts,
                    client,
                    headers,
                    id,
                    request: *request,
                };
                self.request(server, asked).await
            }
        }
    }

    /// Answers a GET request: a stream of changes in a session. The newest revision has none.
    pub async fn get(&self, server: &ToolServer, client: &str, headers: &HeaderMap) -> HttpReply {
        let Some(id) = headers::session(headers) else {
            return HttpReply::MethodNotAllowed;
        };
        if !Accepts::of(headers).streams() {
            return HttpReply::refused(406, None, ErrorCode::INVALID_REQUEST, NOT_ACCEPTABLE);
        }
        let Some(session) = self.sessions.find(client, id) else {
            return no_session(None);
        };
        let (messages, queue) = mpsc::channel(QUEUE);
        let life = ConnectionLife::new();
        let handler = server.handler(LossLog::new(&messages), life.clone());
        let closing = self.closing.clone();
        let listening = ClientSession::listen(&session);
        tokio::spawn(async move {
            let _listening = listening;
            tokio::select! {
                () = announce_changes(&handler, &messages) => {}
                () = announce_context_changes(&handler, &session, &messages) => {}
                () = life.closed() => {}
                () = session.life.closed() => {}
                () = closing.closed() => {}
                () = messages.closed() => {}
            }
        });
        HttpReply::Stream(MessageStream::new(queue, None))
    }

    /// Answers a DELETE request, which ends a session and its requests.
    pub fn delete(&self, client: &str, headers: &HeaderMap) -> HttpReply {
        match headers::session(headers) {
            None => HttpReply::MethodNotAllowed,
            Some(id) if self.sessions.end(client, id) => HttpReply::Ended,
            Some(_) => no_session(None),
        }
    }

    /// Takes a message without a response; `cancelled` names the request that it cancels.
    fn note(&self, client: &str, headers: &HeaderMap, cancelled: Option<&RequestId>) -> HttpReply {
        let Some(id) = headers::session(headers) else {
            return HttpReply::Accepted;
        };
        let Some(session) = self.sessions.find(client, id) else {
            return no_session(None);
        };
        if let Some(request) = cancelled {
            session.cancel(request);
        }
        HttpReply::Accepted
    }

    /// Takes the response to a question of a call in this session.
    async fn answered(
        &self,
        client: &str,
        headers: &HeaderMap,
        id: &RequestId,
        response: ClientJsonRpcMessage,
    ) -> HttpReply {
        let session = headers::session(headers).and_then(|id| self.sessions.find(client, id));
        match session {
            Some(session) => {
                session.answered(id, response).await;
                HttpReply::Accepted
            }
            None if headers::session(headers).is_some() => no_session(None),
            None => HttpReply::Accepted,
        }
    }

    /// The one place that decides of which era a request is.
    async fn request(&self, server: &ToolServer, asked: Asked<'_>) -> HttpReply {
        if let ClientRequest::InitializeRequest(request) = &asked.request {
            let params = request.params.clone();
            return self.initialize(server, asked, params).await;
        }
        let header = headers::version(asked.headers);
        let is_modern = header.is_some_and(|version| version >= MODERN.as_str())
            || asked.request.get_meta().protocol_version().is_some()
            || matches!(asked.request, ClientRequest::DiscoverRequest(_));
        if is_modern {
            self.modern(server, asked).await
        } else {
            self.legacy(server, asked).await
        }
    }

    /// A request that says everything about itself.
    async fn modern(&self, server: &ToolServer, asked: Asked<'_>) -> HttpReply {
        let missing = asked.request.get_meta().missing_required_keys(&MODERN);
        if !missing.is_empty() {
            let message = format!(
                "the request lacks these fields of `_meta`, or they cannot be read: {}",
                missing.join(", ")
            );
            return HttpReply::refused(400, Some(&asked.id), ErrorCode::INVALID_PARAMS, message);
        }
        if let Err(message) = headers::check(asked.headers, &asked.request) {
            let error = ErrorData::header_mismatch(message, None);
            return HttpReply::error(400, Some(&asked.id), &error);
        }
        let life = ConnectionLife::new();
        let (messages, queue) = mpsc::channel(QUEUE);
        let mut handler = server.handler(LossLog::new(&messages), life.clone());
        handler.closing = Some(self.closing.clone());
        handler.headers = Some(asked.headers.clone());
        handler.client = asked.client.into();
        handler.waiting = Arc::clone(&self.waiting);
        let Asked {
            accepts,
            id,
            headers,
            mut request,
            ..
        } = asked;
        let observers = handler.engine.mcp_observers();
        let observed = ObservedRequest::begin(observers, &id, &mut request, headers, None);
        let request = JsonRpcMessage::request(request, id.clone());
        let transport = SingleRequest::new(request, messages, life.clone(), None, observed);
        run(handler, transport, None);
        let stream = MessageStream::new(queue, Some(life));
        stream
            .reply(accepts, &id, server.settings.stream_after, status)
            .await
    }

    /// The first request of a session.
    async fn initialize(
        &self,
        server: &ToolServer,
        mut asked: Asked<'_>,
        mut params: InitializeRequestParams,
    ) -> HttpReply {
        let life = ConnectionLife::new();
        let (messages, queue) = mpsc::channel(QUEUE);
        let handler = server.handler(LossLog::new(&messages), life.clone());
        // The session continues with the negotiated revision. Without one, there is no session.
        match handler.negotiate_initialize(&params) {
            Ok(negotiated) => params.protocol_version = negotiated.protocol_version,
            Err(error) => return HttpReply::error(200, Some(&asked.id), &error),
        }
        let most_calls = server.settings.most_calls;
        let observers = handler.engine.mcp_observers().clone();
        let revision = params.protocol_version.clone();
        let (sessions, client) = (&self.sessions, asked.client);
        let session = match sessions.begin(client, params, most_calls, observers.clone()) {
            Ok(session) => session,
            Err(error) => {
                tracing::error!(%error, "the operating system has no random numbers");
                let error = ErrorData::internal_error("no session can begin", None);
                return HttpReply::error(500, Some(&asked.id), &error);
            }
        };
        let of_session = Some((&*session, revision.as_str()));
        let (id, headers) = (&asked.id, asked.headers);
        let observed =
            ObservedRequest::begin(&observers, id, &mut asked.request, headers, of_session);
        let request = JsonRpcMessage::request(asked.request, asked.id.clone());
        let transport = SingleRequest::new(request, messages, life.clone(), None, observed);
        run(handler, transport, None);
        let stream = MessageStream::new(queue, Some(life));
        let after = server.settings.stream_after;
        let reply = stream.reply(asked.accepts, &asked.id, after, |_| 200).await;
        reply.with_session(&session)
    }

    /// A request of a session.
    async fn legacy(&self, server: &ToolServer, mut asked: Asked<'_>) -> HttpReply {
        let Some(session_id) = headers::session(asked.headers) else {
            let code = ErrorCode::INVALID_REQUEST;
            return HttpReply::refused(400, Some(&asked.id), code, NO_SESSION);
        };
        let Some(session) = self.sessions.find(asked.client, session_id) else {
            return no_session(Some(&asked.id));
        };
        if let Some(version) = headers::version(asked.headers)
            && !ProtocolVersion::KNOWN_VERSIONS
                .iter()
                .any(|known| known.as_str() == version)
        {
            let message = "the header `MCP-Protocol-Version` names no revision that is spoken here";
            let code = ErrorCode::INVALID_REQUEST;
            return HttpReply::refused(400, Some(&asked.id), code, message);
        }
        let life = ConnectionLife::new();
        let open = match ClientSession::open(&session, &asked.id, &life) {
            Ok(open) => open,
            Err(message) => {
                let code = ErrorCode::INVALID_REQUEST;
                return HttpReply::refused(400, Some(&asked.id), code, message);
            }
        };
        let (messages, queue) = mpsc::channel(QUEUE);
        let mut handler = server.handler(LossLog::new(&messages), life.clone());
        handler.log_level = Arc::clone(&session.log_level);
        handler.subscribed = Some(Arc::clone(&session.subscribed));
        handler.turns = Arc::clone(&session.turns);
        handler.reads_questions = asked.accepts.streams();
        let of_session = Some((session_id, session.peer.protocol_version.as_str()));
        let (id, headers) = (&asked.id, asked.headers);
        let observers = handler.engine.mcp_observers();
        let observed =
            ObservedRequest::begin(observers, id, &mut asked.request, headers, of_session);
        let request = JsonRpcMessage::request(asked.request, asked.id.clone());
        let transport = SingleRequest::new(request, messages, life, Some(open), observed);
        let peer = Some(session.peer.clone());
        run(handler, transport, peer);
        let stream = MessageStream::new(queue, None);
        let after = server.settings.stream_after;
        stream.reply(asked.accepts, &asked.id, after, |_| 200).await
    }
}

/// A request with its surroundings.
struct Asked<'a> {
    accepts: Accepts,
    client: &'a str,
    headers: &'a HeaderMap,
    id: RequestId,
    request: ClientRequest,
}

/// Handles a request until its response was sent or its life is over.
fn run(handler: RequestHandler, request: SingleRequest, peer: Option<InitializeRequestParams>) {
    let running = serve_directly(handler, request, peer);
    tokio::spawn(async move {
        if let Err(error) = running.waiting().await {
            tracing::error!(%error, "the task of a request failed");
        }
    });
}

/// The status of a response in the newest revision.
const fn status(kind: MessageKind) -> u16 {
    match kind {
        MessageKind::Error(
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::HEADER_MISMATCH,
        ) => 400,
        MessageKind::Error(ErrorCode::METHOD_NOT_FOUND) => 404,
        MessageKind::Error(_) | MessageKind::Notification | MessageKind::Result => 200,
    }
}

fn no_session(id: Option<&RequestId>) -> HttpReply {
    let message = "there is no such session; begin another one with `initialize`";
    HttpReply::refused(404, id, ErrorCode::INVALID_REQUEST, message)
}

/// Sends a notification whenever the offered tools have changed.
async fn announce_changes(handler: &RequestHandler, messages: &mpsc::Sender<QueuedMessage>) {
    let note = json!({ "method": "notifications/tools/list_changed" });
    let mut known: Option<Digest> = None;
    loop {
        handler.changed(&mut known).await;
        if messages.send(notification(&note)).await.is_err() {
            return;
        }
    }
}

/// Sends a notification whenever a list of resources or prompts has changed, or a resource that the client has
/// subscribed to.
async fn announce_context_changes(
    handler: &RequestHandler,
    session: &ClientSession,
    messages: &mpsc::Sender<QueuedMessage>,
) {
    let (mut watches, mut changes) = ContextWatches::new(&handler.engine, &handler.options);
    if !handler.choice.is_selection() {
        watches.watch_lists();
    }
    let mut subscribed = session.subscribed.watch();
    loop {
        watches.set(&subscribed.borrow_and_update().clone());
        let change = tokio::select! {
            Some(change) = changes.recv() => change,
            _ = subscribed.changed() => continue,
        };
        let note = match change {
            ClientChange::Prompts => json!({ "method": "notifications/prompts/list_changed" }),
            ClientChange::Resource(uri) => json!({
                "method": "notifications/resources/updated", "params": { "uri": uri },
            }),
            ClientChange::Resources => json!({ "method": "notifications/resources/list_changed" }),
        };
        if messages.send(notification(&note)).await.is_err() {
            return;
        }
    }
}

fn notification(note: &Value) -> QueuedMessage {
    let mut note = note.clone();
    note["jsonrpc"] = json!("2.0");
    QueuedMessage {
        bytes: note.to_string().into_bytes(),
        kind: MessageKind::Notification,
        permit: None,
    }
}

/// The first revision whose requests stand alone.
const MODERN: ProtocolVersion = ProtocolVersion::V_2026_07_28;
/// The error for a client that takes no answer.
const NOT_ACCEPTABLE: &str =
    "the header `Accept` names neither `application/json` nor `text/event-stream`";
/// The error for a request before the revision is known.
const NO_SESSION: &str = "say which revision of the protocol you speak: with \
     `io.modelcontextprotocol/protocolVersion` in `_meta`, or begin a session with `initialize` and send its \
     `Mcp-Session-Id`";
