//! The transport of one request, whose messages go into a queue.

use std::io;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
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
    request: Option<ClientJsonRpcMessage>,
    /// Its place in the session.
    _open: Option<OpenRequest>,
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
            request: Some(request),
            _open: open,
        }
    }
}

impl Transport<RoleServer> for SingleRequest {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let kind = MessageKind::of(&message);
        if let Some(observed) = &mut self.observed {
            observed.sent(&message);
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
                _gone = messages.send(message) => {}
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
        self.life.closed().await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.life.close();
        Ok(())
    }
}
