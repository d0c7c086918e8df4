//! The transport between a client's two streams and `rmcp`.
//!
//! Every request gets an internal id on the way in, and its own id again on the way out, because `rmcp` tracks
//! open requests by id. So a cancellation cannot affect an earlier or later request with the same id.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientRequest,
    ErrorCode, ErrorData, GetMeta as _, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::json;
use tokio::io::AsyncBufRead;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::client_message::ClientMessage;
use crate::life::ConnectionLife;
use crate::lines::Lines;
use crate::writer::{ClientWriter, MessageKind, QueuedMessage};

/// A client's two streams as a transport of `rmcp`.
pub(crate) struct ClientPipes<R> {
    /// Whether a handshake took place.
    initialized: bool,
    life: ConnectionLife,
    lines: Lines<R>,
    max_line: usize,
    next_id: i64,
    unanswered: UnansweredRequests,
    /// A refusal that waits for space in the queue.
    pending: Option<Vec<u8>>,
    slots: Arc<Semaphore>,
    writer: ClientWriter,
}

#[derive(Default)]
struct UnansweredRequests {
    by_server_id: HashMap<i64, (RequestId, OwnedSemaphorePermit)>,
    by_client_id: HashMap<RequestId, i64>,
}

impl<R> ClientPipes<R> {
    pub(crate) fn new(
        lines: Lines<R>,
        writer: ClientWriter,
        life: ConnectionLife,
        (max_line, most_open): (usize, usize),
    ) -> Self {
        Self {
            initialized: false,
            life,
            lines,
            max_line,
            next_id: 0,
            unanswered: UnansweredRequests::default(),
            pending: None,
            slots: Arc::new(Semaphore::new(most_open)),
            writer,
        }
    }

    /// The message to pass to `rmcp`, if any; others are answered here.
    fn accept(&mut self, message: ClientMessage) -> Option<ClientJsonRpcMessage> {
        match message {
            ClientMessage::Cancelled(id) => {
                let (ours, _room) = self.unanswered.take_by_client_id(&id)?;
                let params = CancelledNotificationParam::new(Some(RequestId::Number(ours)), None);
                let note = CancelledNotification::new(params);
                Some(JsonRpcMessage::notification(note.into()))
            }
            ClientMessage::Ignored => None,
            ClientMessage::Notification(note) => Some(JsonRpcMessage::notification(*note)),
            ClientMessage::Refused { error, id } => self.refuse(&error, id),
            ClientMessage::Response { response, .. } => Some(*response),
            ClientMessage::Request { id, request } => match self.admit(&id, &request) {
                Ok(permit) => {
                    let server_id = self.next_id;
                    self.next_id += 1;
                    self.unanswered.add(id, server_id, permit);
                    let ours = RequestId::Number(server_id);
                    Some(JsonRpcMessage::request(*request, ours))
                }
                Err(error) => self.refuse(&error, Some(id)),
            },
        }
    }

    /// Admits a request, and reserves its slot.
    fn admit(
        &mut self,
        id: &RequestId,
        request: &ClientRequest,
    ) -> Result<OwnedSemaphorePermit, ErrorData> {
        if self.unanswered.by_client_id.contains_key(id) {
            let message = format!("a request of the id `{id}` is under way");
            return Err(ErrorData::invalid_request(message, None));
        }
        self.initialized |= matches!(request, ClientRequest::InitializeRequest(_));
        // `ping` is allowed at any time, and `rmcp` itself checks a discovery request.
        let first = matches!(
            request,
            ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_)
        );
        // `rmcp` checks the rest of the required metadata.
        if !first && !self.initialized && request.get_meta().protocol_version().is_none() {
            return Err(ErrorData::invalid_params(NOT_INITIALIZED, None));
        }
        Arc::clone(&self.slots).try_acquire_owned().map_err(|_| {
            let code = ErrorCode(TOO_MANY);
            ErrorData::new(code, "too many requests are under way; wait for one", None)
        })
    }

    fn refuse(&mut self, error: &ErrorData, id: Option<RequestId>) -> Option<ClientJsonRpcMessage> {
        let id = id.map(RequestId::into_json_value);
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        self.pending = Some(answer.to_string().into_bytes());
        None
    }
}

impl UnansweredRequests {
    fn add(&mut self, client_id: RequestId, server_id: i64, permit: OwnedSemaphorePermit) {
        self.by_client_id.insert(client_id.clone(), server_id);
        self.by_server_id.insert(server_id, (client_id, permit));
    }

    fn take_by_client_id(&mut self, client_id: &RequestId) -> Option<(i64, OwnedSemaphorePermit)> {
        let server_id = self.by_client_id.remove(client_id)?;
        let (_, permit) = self.by_server_id.remove(&server_id)?;
        Some((server_id, permit))
    }

    fn take_by_server_id(
        &mut self,
        server_id: &RequestId,
    ) -> Option<(RequestId, OwnedSemaphorePermit)> {
        let RequestId::Number(ours) = server_id else {
            return None;
        };
        let (client_id, permit) = self.by_server_id.remove(ours)?;
        self.by_client_id.remove(&client_id);
        Some((client_id, permit))
    }
}

impl<R: AsyncBufRead + Send + Unpin + 'static> Transport<RoleServer> for ClientPipes<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let response_id = match &mut message {
            JsonRpcMessage::Error(error) => error.id.as_mut(),
            JsonRpcMessage::Response(response) => Some(&mut response.id),
            JsonRpcMessage::Notification(_) | JsonRpcMessage::Request(_) => None,
        };
        // A response to a request that is no longer open is dropped.
        let (is_open, permit) = match response_id {
            Some(id) => match self.unanswered.take_by_server_id(id) {
                Some((theirs, room)) => {
                    *id = theirs;
                    (true, Some(room))
                }
                None => (false, None),
            },
            None => (true, None),
        };
        let kind = MessageKind::of(&message);
        let bytes = serde_json::to_vec(&message).map_err(io::Error::from);
        let (queue, life) = (self.writer.queue(), self.life.clone());
        async move {
            let (true, Some(queue)) = (is_open, queue) else {
                return Ok(());
            };
            let message = QueuedMessage {
                bytes: bytes?,
                kind,
                permit,
            };
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            tokio::select! {
                biased;
                sent = queue.send(message) => sent.map_err(|_| gone()),
                () = life.closed() => Err(gone()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.pending.is_some() {
                let queue = self.writer.queue()?;
                // While the client does not read responses, its requests are not read, either.
                let place = tokio::select! {
                    () = self.life.closed() => return None,
                    place = queue.reserve() => place.ok()?,
                };
                if let Some(bytes) = self.pending.take() {
                    place.send(QueuedMessage {
                        bytes,
                        // Only a refusal waits here.
                        kind: MessageKind::Error(ErrorCode::INVALID_REQUEST),
                        permit: None,
                    });
                }
            }
            let line = tokio::select! {
                biased;
                () = self.life.closed() => return None,
                line = self.lines.next() => line,
            };
            let Ok(Some(line)) = line else {
                self.life.end_input();
                return None;
            };
            if let Some(message) = self.accept(ClientMessage::read(&line, self.max_line)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.life.close();
        self.writer.close().await;
        Ok(())
    }
}

/// The error for a request before the protocol revision is known.
const NOT_INITIALIZED: &str = "say which revision of the protocol you speak: with \
     `io.modelcontextprotocol/protocolVersion` in `_meta`, or once with `initialize`";
/// A generic error code of JSON-RPC servers.
const TOO_MANY: i32 = -32000;
