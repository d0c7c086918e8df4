//! The chunks of a message as server-sent events.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use jackfield_domain::ids::{TurnId, WaitId};
use jackfield_domain::turn_log::TurnLog;
use jackfield_engine::{Connection, EngineError, Watcher};
use jackfield_gateway::{Gateway, RequestSlot};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::chunks::Chunks;
use crate::event_stream::event_stream;

pub(super) struct ChunkStream {
    /// The questions that were answered with the request: the turn does not rest before it has seen the answers.
    pub(super) answered: Vec<WaitId>,
    pub(super) chunks: Chunks,
    /// The connection to mark as written.
    pub(super) connection: Option<Connection>,
    /// The chunk that comes first.
    pub(super) first: Option<Value>,
    pub(super) gateway: Gateway,
    pub(super) has_ended: bool,
    /// When anything was sent last.
    pub(super) sent: Instant,
    /// A slot of the limit on concurrent requests.
    #[expect(dead_code, reason = "it is held until the last byte has left")]
    pub(super) slot: RequestSlot,
    pub(super) turn: TurnId,
    pub(super) watcher: Watcher,
}

impl ChunkStream {
    /// The response with this stream as its body.
    pub(super) fn response(self) -> Response {
        let pieces = stream::unfold(self, |mut told| async {
            let text = told.next().await?;
            Some((Ok::<_, EngineError>(Bytes::from(text)), told))
        });
        let mut response = event_stream(Body::from_stream(pieces));
        let version = HeaderValue::from_static("v1");
        let headers = response.headers_mut();
        headers.insert("x-vercel-ai-ui-message-stream", version);
        response
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        if self.has_ended {
            return None;
        }
        if let Some(first) = self.first.take() {
            return Some(frame(&first));
        }
        let keep_alive = self.gateway.config().keep_alive;
        loop {
            // What has happened comes before the question whether the turn rests: in a replayed message it may have
            // rested before.
            if let Some((_, event)) = self.watcher.try_next() {
                let chunks = self.chunks.convert(event);
                if !chunks.is_empty() {
                    self.sent = Instant::now();
                    return Some(chunks.iter().map(frame).collect());
                }
                continue;
            }
            if self.is_over().await {
                self.has_ended = true;
                if let Some(connection) = self.connection.take() {
                    connection.mark_written();
                }
                let mut text: String = self.chunks.end().iter().map(frame).collect();
                text.push_str("data: [DONE]\n\n");
                return Some(text);
            }
            let next = timeout(keep_alive.min(TICK), self.watcher.next()).await;
            let event = match next {
                Ok(Ok((_, event))) => event,
                // The front end resumes, as after a lost connection.
                Ok(Err(_)) => return None,
                Err(_) if self.gateway.engine().is_draining() => return None,
                Err(_) if self.sent.elapsed() < keep_alive => continue,
                Err(_) => {
                    self.sent = Instant::now();
                    return Some(": still there\n\n".to_owned());
                }
            };
            let chunks = self.chunks.convert(event);
            if !chunks.is_empty() {
                self.sent = Instant::now();
                return Some(chunks.iter().map(frame).collect());
            }
        }
    }

    async fn is_over(&mut self) -> bool {
        let events = self.chunks.events();
        let has_seen = |turn: &TurnLog| {
            let is_open = |wait: &WaitId| turn.open_waits().any(|open| open.wait.id == *wait);
            !self.answered.iter().any(is_open)
        };
        events.is_idle(&self.turn)
            && events.turn().is_some_and(has_seen)
            // An error here shows up with the next event.
            && events.is_left_to_person(&self.gateway).await.unwrap_or(true)
    }
}

/// A chunk as an event; JSON is on one line.
fn frame(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}

/// The longest time until a stream notices the shutdown of the gateway.
const TICK: Duration = Duration::from_secs(1);
