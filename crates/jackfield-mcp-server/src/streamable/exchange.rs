//! The transport of one request, whose messages go into a queue.

use std::io;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::sessions::OpenRequest;
use crate::life::{ConnectionLife, LifeGuard};
use crate::observed::ObservedRequest;
use crate::writer::{MessageKind, QueuedMessage};

/// A connection with one request. It is over after the response.
pub(super) struct SingleRequest {
    life: ConnectionLife,
    messages: mpsc::Sender<QueuedMessage>,
    observed: Option<ObservedRequest>,
    /// Its place in the session.
    open: Option<OpenRequest>,
    request: Option<ClientJsonRpcMessage>,
    /// The client's responses to questions of the call, and their queue.
    responses: (
        mpsc::Sender<ClientJsonRpcMessage>,
        mpsc::Receiver<ClientJsonRpcMessage>,
    ),
    _last_word: LifeGuard,
}

impl SingleRequest {
    pub(super) fn new(
        request: ClientJsonRpcMessage,
        messages: mpsc::Sender<QueuedMessage>,
        life: ConnectionLife,
        open: Option<OpenRequest>,
        observed: Option<ObservedRequest>,
    ) -> Self {
        Self {
            _last_word: LifeGuard(life.clone()),
            life,
            messages,
            observed,
            open,
            request: Some(request),
            responses: mpsc::channel(1),
        }
    }
}

impl Transport<RoleServer> for SingleRequest {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let kind = MessageKind::of(&message);
        let is_question = matches!(message, JsonRpcMessage::Request(_));
        if let Some(observed) = &mut self.observed {
            observed.sent(&message);
        }
        if let (JsonRpcMessage::Request(question), Some(open)) = (&mut message, &self.open) {
            question.id = open.ask(&question.id, &self.responses.0);
        }
        let bytes = serde_json::to_vec(&message).map_err(io::Error::from);
        let (life, messages) = (self.life.clone(), self.messages.clone());
        async move {
            let message = QueuedMessage {
                bytes: bytes?,
                kind,
                permit: None,
            };
            // Without a client, there is no one to tell of a failure.
            tokio::select! {
                biased;
                // A cancelled request has no response.
                () = life.closed() => {}
                sent = messages.send(message) => {
                    // A question that no client reads would wait for its response in vain.
                    if is_question && sent.is_err() {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
                }
            }
            if kind != MessageKind::Notification {
                life.close();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if let Some(request) = self.request.take() {
            return Some(request);
        }
        tokio::select! {
            () = self.life.closed() => None,
            response = self.responses.1.recv() => response,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.life.close();
        Ok(())
    }
}
