//! Replies to HTTP requests.

use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::life::ConnectionLife;
use crate::request_headers::Accepts;
use crate::writer::{MessageKind, QueuedMessage};

/// The reply to a request.
#[derive(Debug)]
pub enum HttpReply {
    /// A message without a response was taken: status 202, no body.
    Accepted,
    /// The session was ended: status 204, no body.
    Ended,
    /// One JSON-RPC message as `application/json`.
    Message {
        body: Vec<u8>,
        /// The session that began, for the header `Mcp-Session-Id`.
        session: Option<String>,
        status: u16,
    },
    /// The method is not for this address: status 405. POST is.
    MethodNotAllowed,
    /// Messages as `text/event-stream`, with status 200.
    Stream(MessageStream),
}

/// The messages of a request, or of a session. Dropping it ends a request of the newest revision.
#[derive(Debug)]
pub struct MessageStream {
    /// A message that was taken from the queue already.
    first: Option<QueuedMessage>,
    is_over: bool,
    /// Ends the request with the stream.
    life: Option<ConnectionLife>,
    queue: mpsc::Receiver<QueuedMessage>,
    session: Option<String>,
}

impl HttpReply {
    pub(super) fn refused(
        status: u16,
        id: Option<&RequestId>,
        code: ErrorCode,
        message: impl Into<String>,
    ) -> Self {
        Self::error(status, id, &ErrorData::new(code, message.into(), None))
    }

    pub(super) fn error(status: u16, id: Option<&RequestId>, error: &ErrorData) -> Self {
        let id = id.cloned().map(RequestId::into_json_value);
        let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        Self::Message {
            body: body.to_string().into_bytes(),
            session: None,
            status,
        }
    }

    /// The same, with the session that began.
    pub(super) fn with_session(mut self, id: &str) -> Self {
        match &mut self {
            Self::Message { session, .. } => *session = Some(id.to_owned()),
            Self::Stream(stream) => stream.session = Some(id.to_owned()),
            Self::Accepted | Self::Ended | Self::MethodNotAllowed => {}
        }
        self
    }
}

impl MessageStream {
    pub(super) const fn new(
        queue: mpsc::Receiver<QueuedMessage>,
        life: Option<ConnectionLife>,
    ) -> Self {
        Self {
            first: None,
            is_over: false,
            life,
            queue,
            session: None,
        }
    }

    /// The session that began, for the header `Mcp-Session-Id`.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The next message; `None` after the response, and if there will be none. Cancel-safe.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.next_message().await.map(|message| message.bytes)
    }

    async fn next_message(&mut self) -> Option<QueuedMessage> {
        if self.is_over {
            return None;
        }
        let message = match self.first.take() {
            Some(message) => Some(message),
            None => self.queue.recv().await,
        };
        self.is_over = message
            .as_ref()
            .is_none_or(|message| message.kind != MessageKind::Notification);
        message
    }

    /// The response alone if it is the first message and comes soon; otherwise a stream, if the client accepts it.
    pub(super) async fn reply(
        mut self,
        accepts: Accepts,
        id: &RequestId,
        stream_after: Duration,
        status: impl Fn(MessageKind) -> u16,
    ) -> HttpReply {
        let message = if accepts.streams() {
            match timeout(stream_after, self.next_message()).await {
                Ok(Some(message)) if message.kind == MessageKind::Notification => {
                    self.first = Some(message);
                    return HttpReply::Stream(self);
                }
                Ok(Some(message)) if accepts == Accepts::Stream => {
                    // An error of the transport has a status, which a stream has not.
                    if status(message.kind) == 200 {
                        self.first = Some(message);
                        self.is_over = false;
                        return HttpReply::Stream(self);
                    }
                    Some(message)
                }
                Ok(message) => message,
                Err(_) => return HttpReply::Stream(self),
            }
        } else {
            loop {
                match self.next_message().await {
                    Some(message) if message.kind == MessageKind::Notification => {}
                    message => break message,
                }
            }
        };
        match message {
            Some(message) => HttpReply::Message {
                status: status(message.kind),
                body: message.bytes,
                session: None,
            },
            // A cancelled request has no response.
            None if accepts.streams() => HttpReply::Stream(self),
            None => {
                let error = ErrorData::internal_error("cancelled", None);
                HttpReply::error(200, Some(id), &error)
            }
        }
    }
}

impl Drop for MessageStream {
    fn drop(&mut self) {
        if let Some(life) = &self.life {
            life.close();
        }
    }
}
