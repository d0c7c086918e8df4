//! Reads the messages of a body, and of a stream that may break and be taken up again.

use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jackfield_provider_kit::sse::RawEvents;
use jackfield_provider_kit::transport::Incoming;
use rmcp::model::RequestId;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::exchange::{Exchange, failed, sign};
use super::failures;
use crate::era::Era;
use crate::failure::LinkFailure;
use crate::lines::Line;
use crate::message::{ReadMessage, ServerMessage};
use crate::scan::IdFinder;

impl Exchange {
    /// Reads a stream until the answer to this request. A broken stream is taken up again in the older era, if its
    /// events have ids (MCP 2025-11-25, "Resumability and Redelivery", read 2026-11-26).
    pub(super) async fn read_stream(
        &self,
        incoming: Incoming,
        id: &RequestId,
    ) -> Result<(), LinkFailure> {
        let mut incoming = incoming;
        let (mut last_id, mut retry) = (None::<String>, RETRY);
        let mut idle_attempts = 0;
        loop {
            let decoded = incoming
                .decompress()
                .await
                .map_err(|error| failed(&error))?;
            let mut events = decoded.into_events();
            let broken = loop {
                match events.next().await {
                    Ok(Some(event)) => {
                        idle_attempts = 0;
                        if self.deliver(event.data.into_bytes(), Some(id)).await {
                            drain(events).await;
                            return Ok(());
                        }
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(failed(&error)),
                }
            };
            last_id = events.last_id().map(str::to_owned).or(last_id);
            retry = events.retry().map_or(retry, |retry| retry.min(MAX_RETRY));
            let host = self.address.host();
            let broken = broken.unwrap_or_else(|| {
                failures::no_answer(&host, "its stream of events ended before the answer")
            });
            let Some(from) = last_id.as_deref().filter(|_| self.may_resume()) else {
                return Err(broken);
            };
            idle_attempts += 1;
            if idle_attempts > MAX_IDLE_ATTEMPTS {
                return Err(broken);
            }
            sleep(retry).await;
            incoming = match self.open_stream(Some(from)).await {
                Ok(incoming) => incoming,
                Err(_) => return Err(broken),
            };
        }
    }

    fn may_resume(&self) -> bool {
        self.session.era() != Some(Era::Stateless)
    }

    /// Opens a stream of the server's messages, after this event if one is named.
    pub(super) async fn open_stream(&self, after: Option<&str>) -> Result<Incoming, LinkFailure> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        if let Some(id) = after.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert("last-event-id", id);
        }
        let mut request = self.request(Method::GET, headers, Bytes::new())?;
        sign(&mut request, self.bearer().await?.as_ref());
        let incoming = self.transport.send(request).await;
        let incoming = incoming.map_err(|error| failed(&error))?;
        let (host, status) = (self.address.host(), incoming.status());
        if status == StatusCode::NOT_FOUND && self.session.is_open() {
            return Err(failures::session_lost(&host));
        }
        if !status.is_success() {
            return Err(failures::status(&host, status, ""));
        }
        match incoming.media_type().as_deref() {
            Some(EVENT_STREAM) => Ok(incoming),
            other => Err(failures::media_type(&host, other)),
        }
    }

    /// Whether the endpoint is one of the transport of 2024-11-05: a stream whose first event names another address
    /// (MCP 2025-03-26, "Backwards Compatibility", read 2026-11-26).
    pub(super) async fn is_old_transport(&self) -> bool {
        let first = async {
            let mut events = self.open_stream(None).await.ok()?.into_events();
            events.next().await.ok()?
        };
        let first = timeout(FIRST_EVENT, first).await;
        first
            .is_ok_and(|event| event.is_some_and(|event| event.name.as_deref() == Some("endpoint")))
    }

    /// Queues the messages of one body or event; `true` if the answer to this request is among them. Answers to other
    /// requests do not belong here, and are only noted.
    pub(super) async fn deliver(&self, bytes: Vec<u8>, own: Option<&RequestId>) -> bool {
        if bytes.trim_ascii().is_empty() {
            // A server begins a stream with an empty event to give it an id.
            return false;
        }
        // Revision 2025-03-26 allows several messages in one.
        if bytes.trim_ascii_start().first() == Some(&b'[')
            && let Ok(batch) = serde_json::from_slice::<Vec<Box<RawValue>>>(&bytes)
        {
            let mut found = false;
            for message in batch {
                let line = Line::Whole(message.get().as_bytes().to_vec());
                found |= self.deliver_one(ReadMessage::read(line), own).await;
            }
            return found;
        }
        let line = self.line(bytes);
        self.deliver_one(ReadMessage::read(line), own).await
    }

    async fn deliver_one(&self, mut read: ReadMessage, own: Option<&RequestId>) -> bool {
        let answered = match &mut read.message {
            ServerMessage::Answer { id, .. } | ServerMessage::Unreadable { id, .. } => Some(&*id),
            ServerMessage::Error { id, .. } => {
                // An error without an id on the stream of a request concerns that request.
                if id.is_none() {
                    *id = own.cloned();
                }
                id.as_ref()
            }
            ServerMessage::Noise(line) => {
                let line = failures::cut(&String::from_utf8_lossy(line));
                self.note(&format!("[not the protocol, over HTTP] {line}"))
                    .await;
                return false;
            }
            ServerMessage::Log(log) => {
                log.during = own.cloned();
                self.queue(read).await;
                return false;
            }
            ServerMessage::Question(question) => {
                question.during = own.cloned();
                self.queue(read).await;
                return false;
            }
            ServerMessage::Notification { .. } | ServerMessage::Request(_) => {
                self.queue(read).await;
                return false;
            }
        };
        if answered.is_none() || answered != own {
            self.note("[an answer to another request, over HTTP]").await;
            return false;
        }
        self.queue(read).await;
        true
    }

    /// A message as a line, cut if it is too long.
    fn line(&self, mut bytes: Vec<u8>) -> Line {
        let max = self.settings.max_message;
        if bytes.len() <= max {
            return Line::Whole(bytes);
        }
        let mut finder = IdFinder::default();
        finder.feed(&bytes);
        let id = finder.id().map(<[u8]>::to_vec);
        let length = bytes.len();
        bytes.truncate(max);
        Line::Cut {
            id,
            prefix: bytes,
            length,
        }
    }
}

/// Reads the end of a stream whose answer has come, for a moment, so that its connection can be kept.
async fn drain(mut events: RawEvents) {
    let _late = timeout(DRAINING, events.next()).await;
}

const EVENT_STREAM: &str = "text/event-stream";
/// The time limit for the end of a stream.
const DRAINING: Duration = Duration::from_millis(200);
/// The time limit for the first event of the old transport.
const FIRST_EVENT: Duration = Duration::from_secs(3);
/// The most attempts to take up a stream without a single event.
const MAX_IDLE_ATTEMPTS: u32 = 5;
/// The longest pause before a stream is taken up again.
pub(super) const MAX_RETRY: Duration = Duration::from_secs(60);
/// The pause before a stream is taken up again, if the server asks for none.
pub(super) const RETRY: Duration = Duration::from_secs(1);
