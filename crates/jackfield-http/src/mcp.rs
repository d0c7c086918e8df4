//! `/mcp`: the server tools for MCP clients, over Streamable HTTP (MCP specification, "Transports" of the revisions
//! 2025-03-26 to 2026-07-28); `/mcp/NAME`: sets of them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::StreamBody;
use hyper::body::{Body as _, Frame};
use jackfield_engine::ServerTools;
use jackfield_gateway::{Gateway, Principal, RequestSlot, ToolSetEntry};
use jackfield_mcp_server::{
    HttpReply, HttpService, MessageStream, OwnTool, SelectedTool, ServerSettings, ToolServer,
};
use serde::Deserialize;
use tokio::time::timeout;

use crate::api::{ApproveTool, AskTool};
use crate::auth::authenticate;
use crate::event_stream::event_stream;
use crate::refusal::{HttpRefusal, json, no_such_address};
use crate::revocation::end_when_revoked;
use crate::{body, mcp_refusal, rates};

/// Answers a request of an MCP client.
pub(crate) async fn answer(
    State(gateway): State<Gateway>,
    Extension(service): Extension<HttpService>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let (head, body) = request.into_parts();
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    let path = head.uri.path();
    let set = match path.strip_prefix(mcp_refusal::SETS) {
        None => None,
        Some(name) => {
            let set = gateway.config().tool_sets.get(name);
            Some(set.ok_or_else(|| no_such_address(&head.uri))?.as_slice())
        }
    };
    // A stream that only listens and the end of a session are no requests of a rate.
    let admitted = match head.method {
        Method::POST => {
            let slot = rates::admit_without_model(&gateway, &client, &head.extensions).await;
            slot.map(Some)
        }
        Method::GET => gateway.acquire_slot(&client).map(Some),
        _ => Ok(None),
    };
    let (slot, refusal) = match admitted {
        Ok(slot) => (slot, None),
        // It may be the answer to a question, which a full gateway takes, too.
        Err(refusal) if head.method == Method::POST && is_small(&body) => (None, Some(refusal)),
        Err(refusal) => return Err(refusal.into()),
    };
    let server = tool_server(&gateway, &client, set, &head.headers);
    // A session belongs to a token, and not to its principal, as the tools are those of the token.
    let owner = format!("{} {path}", client.name);
    let owner = &*owner;
    let headers = &head.headers;
    let reply = match head.method {
        Method::POST => {
            let (body, _room) = body::read(&gateway, &client, headers, body).await?;
            if let Some(refusal) = refusal
                && !is_answer(&body)
            {
                return Err(refusal.into());
            }
            service.post(&server, owner, headers, &body).await
        }
        Method::GET => service.get(&server, owner, headers).await,
        Method::DELETE => service.delete(owner, headers),
        _ => HttpReply::MethodNotAllowed,
    };
    let response = render(reply, gateway.config().keep_alive, slot);
    Ok(end_when_revoked(response, gateway, client))
}

fn is_small(body: &Body) -> bool {
    let size = body.size_hint().upper();
    size.is_some_and(|size| size <= ANSWER)
}

/// Whether a message is the answer of a client to a request of ours (JSON-RPC 2.0, section 5), or cancels one of its own.
fn is_answer(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        method: Option<String>,
    }
    serde_json::from_slice(message).is_ok_and(|Kind { method }| {
        method.is_none_or(|method| method == "notifications/cancelled")
    })
}

/// The tools that a client may use: all of them, or those of a set.
fn tool_server(
    gateway: &Gateway,
    client: &Principal,
    set: Option<&[ToolSetEntry]>,
    headers: &HeaderMap,
) -> ToolServer {
    let options = gateway.tool_options(client, set);
    let server = ToolServer::new(gateway.engine().clone(), options);
    let server = match (set, &client.tools) {
        (Some(set), _) => server.selecting(set.iter().map(|tool| SelectedTool {
            arguments: tool.arguments.clone(),
            description: tool.description.clone(),
            name: tool.name.clone(),
            origin: tool.origin.clone(),
        })),
        (None, ServerTools::All) => server,
        (None, ServerTools::None) => server.offering::<&str>([]),
        (None, ServerTools::Only(patterns)) => server.offering(patterns.iter().cloned()),
    };
    let asks = set.is_none() && gateway.config().ask;
    let approves = set.is_none() && gateway.config().approve;
    let server = if asks || approves {
        let tags = gateway.tags_of_headers(headers, [], None);
        let ask = asks.then(|| AskTool::new(gateway, client, &tags));
        let ask = ask.flatten().map(|ask| Arc::new(ask) as Arc<dyn OwnTool>);
        let approve = approves.then(|| ApproveTool::new(gateway, client, &tags));
        let approve = approve.flatten();
        let approve = approve.map(|approve| Arc::new(approve) as Arc<dyn OwnTool>);
        server.with_own(ask.into_iter().chain(approve))
    } else {
        server
    };
    server.with(ServerSettings {
        asks_people: !client.has_no_approvals,
        max_message: gateway.config().limits.body,
        stream_after: gateway.config().keep_alive,
        ..ServerSettings::default()
    })
}

fn render(reply: HttpReply, keep_alive: Duration, slot: Option<RequestSlot>) -> Response {
    match reply {
        HttpReply::Accepted => StatusCode::ACCEPTED.into_response(),
        HttpReply::Ended => StatusCode::NO_CONTENT.into_response(),
        HttpReply::Message {
            body,
            session,
            status,
        } => {
            let mut response = json(body);
            *response.status_mut() =
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            name_session(&mut response, session.as_deref());
            response
        }
        HttpReply::MethodNotAllowed => {
            let mut response = StatusCode::METHOD_NOT_ALLOWED.into_response();
            let post = HeaderValue::from_static("POST");
            response.headers_mut().insert(ALLOW, post);
            response
        }
        HttpReply::Stream(messages) => events(messages, keep_alive, slot),
    }
}

/// Messages as server-sent events (WHATWG HTML, section 9.2), with a comment after each silence of this length.
fn events(messages: MessageStream, keep_alive: Duration, slot: Option<RequestSlot>) -> Response {
    let session = messages.session().map(str::to_owned);
    let state = EventBody {
        is_begun: false,
        keep_alive,
        messages,
        _slot: slot,
    };
    // Boxed, because it is moved with every piece.
    let frames = stream::unfold(Box::new(state), |mut state| async move {
        let text = state.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(text)), state))
    });
    let mut response = event_stream(Body::new(StreamBody::new(Box::pin(frames))));
    name_session(&mut response, session.as_deref());
    response
}

/// A stream of messages, which holds its place among the requests until its last byte was sent.
struct EventBody {
    is_begun: bool,
    keep_alive: Duration,
    messages: MessageStream,
    _slot: Option<RequestSlot>,
}

impl EventBody {
    async fn next(&mut self) -> Option<Bytes> {
        // The head is sent with the first piece, and the client waits for the head.
        let silence = if self.is_begun {
            self.keep_alive
        } else {
            Duration::ZERO
        };
        self.is_begun = true;
        match timeout(silence, self.messages.next()).await {
            Ok(None) => None,
            Ok(Some(message)) => {
                let mut text = b"event: message\ndata: ".to_vec();
                text.extend_from_slice(&message);
                text.extend_from_slice(b"\n\n");
                Some(text.into())
            }
            Err(_) => Some(Bytes::from_static(b": \n\n")),
        }
    }
}

fn name_session(response: &mut Response, session: Option<&str>) {
    if let Some(id) = session.and_then(|id| HeaderValue::from_str(id).ok()) {
        response.headers_mut().insert(SESSION, id);
    }
}

/// The size of an answer that is read although the gateway is full.
const ANSWER: u64 = 64 << 10;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";
