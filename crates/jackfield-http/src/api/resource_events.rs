//! Changes of a server's resources and prompts as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use jackfield_engine::{ContextChange, ContextChanges, ContextError, EngineError};
use jackfield_gateway::{Gateway, RequestSlot};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::context::asked;
use super::extract::{Parameters, Requester, ServerPath};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::context::{ResourceChange, WatchQuery};
use crate::event_stream::event_stream;
use crate::revocation::end_when_revoked;

/// Streams changes of one resource of an MCP server, and of its lists of resources and prompts, where the server
/// announces them. What has changed is to be read or listed again. Ends when
/// changes are no longer reported; ask again then.
#[utoipa::path(
    get, path = "/servers/{server}/resources/events", tag = "tools", operation_id = "watch_resource",
    params(("server" = String, Path), WatchQuery),
    responses((status = 200, description = "The changes, as the server announces them.", body = ResourceChange,
            content_type = "text/event-stream"), Problems)
)]
pub(crate) async fn watch(
    Requester(client): Requester,
    ServerPath(server): ServerPath,
    State(gateway): State<Gateway>,
    Parameters(query): Parameters<WatchQuery>,
) -> Result<Response, ProblemDetails> {
    let slot = gateway.acquire_slot(&client)?;
    let (server, options) = asked(&gateway, &client, &server)?;
    let (sender, mut changes) = mpsc::channel(QUEUE);
    let engine = gateway.engine().clone();
    let mut watch = JoinSet::new();
    watch.spawn(async move {
        let uris: Vec<Arc<str>> = query.uri.into_iter().map(Arc::from).collect();
        let mut sink = ChangeSender(sender.clone());
        let ended = engine.watch_context(&options, &server, &uris, &mut sink);
        let ended = ended.await;
        let _gone = sender.send(Err(ended)).await;
    });
    // The first event or the reason why there is none, which becomes the status of the response.
    let first = match timeout(BEGIN_LIMIT, changes.recv()).await {
        Ok(Some(first)) => first?,
        Ok(None) | Err(_) => {
            let detail = "the server did not accept the subscription in time";
            return Err(ProblemDetails::new(ProblemKind::Unavailable, detail));
        }
    };
    let stream = ChangeStream {
        changes,
        first: Some(first),
        gateway: gateway.clone(),
        sent: Instant::now(),
        _slot: slot,
        _watch: watch,
    };
    let chunks = stream::unfold(stream, |mut stream| async {
        let text = stream.next().await?;
        Some((Ok::<_, EngineError>(Bytes::from(text)), stream))
    });
    let response = event_stream(Body::from_stream(chunks));
    Ok(end_when_revoked(response, gateway, client))
}

/// Passes changes on to the stream.
struct ChangeSender(mpsc::Sender<Result<ContextChange, ContextError>>);

#[async_trait]
impl ContextChanges for ChangeSender {
    async fn changed(&mut self, change: ContextChange) {
        let _gone = self.0.send(Ok(change)).await;
    }
}

struct ChangeStream {
    changes: mpsc::Receiver<Result<ContextChange, ContextError>>,
    first: Option<ContextChange>,
    gateway: Gateway,
    /// When anything was sent last.
    sent: Instant,
    _slot: RequestSlot,
    _watch: JoinSet<()>,
}

impl ChangeStream {
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        let keep_alive = self.gateway.config().keep_alive;
        if let Some(first) = self.first.take() {
            return event(first);
        }
        loop {
            if self.gateway.engine().is_draining() {
                return None;
            }
            match timeout(keep_alive.min(TICK), self.changes.recv()).await {
                Ok(Some(Ok(change))) => {
                    self.sent = Instant::now();
                    return event(change);
                }
                // The client asks again, and gets the reason then.
                Ok(Some(Err(_)) | None) => return None,
                Err(_) if self.sent.elapsed() >= keep_alive => {
                    self.sent = Instant::now();
                    return Some(": still there\n\n".to_owned());
                }
                Err(_) => {}
            }
        }
    }
}

fn event(change: ContextChange) -> Option<String> {
    // JSON on one line: line breaks in texts are escaped.
    let data = serde_json::to_string(&ResourceChange::from(change)).ok()?;
    Some(format!("event: change\ndata: {data}\n\n"))
}

/// How long a server may take to accept a subscription.
const BEGIN_LIMIT: Duration = Duration::from_secs(60);
/// The changes that wait for a slow client; the watch waits with them.
const QUEUE: usize = 16;
/// The longest time until a stream notices the shutdown of the gateway.
const TICK: Duration = Duration::from_secs(1);
