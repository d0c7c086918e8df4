//! Writes whole messages to a client, in order.

use std::io;
use std::time::Duration;

use rmcp::model::{ErrorCode, JsonRpcMessage, ServerJsonRpcMessage};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;

use crate::life::ConnectionLife;

/// The queue of messages to a client. The connection is over when a write fails.
#[derive(Debug)]
pub(crate) struct ClientWriter {
    messages: Option<mpsc::Sender<QueuedMessage>>,
    task: JoinHandle<()>,
}

/// A message, with the slot that it holds until it was written.
#[derive(Debug)]
pub(crate) struct QueuedMessage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: MessageKind,
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

/// What a message is to its client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MessageKind {
    /// A response with an error.
    Error(ErrorCode),
    /// A message without a response.
    Notification,
    /// A response with a result.
    Result,
}

/// A queue for messages that are dropped if the client reads too slowly.
#[derive(Clone, Debug)]
pub(crate) struct LossLog(mpsc::WeakSender<QueuedMessage>);

impl ClientWriter {
    pub(crate) fn new(
        mut output: impl AsyncWrite + Send + Unpin + 'static,
        life: ConnectionLife,
    ) -> Self {
        let (messages, mut queue) = mpsc::channel::<QueuedMessage>(QUEUE);
        let task = tokio::spawn(async move {
            while let Some(message) = queue.recv().await {
                if write(&mut output, message.bytes).await.is_err() {
                    // The client has disconnected.
                    life.close();
                    break;
                }
                drop(message.permit);
            }
        });
        Self {
            messages: Some(messages),
            task,
        }
    }

    /// The queue; `None` once it is closed.
    pub(crate) fn queue(&self) -> Option<mpsc::Sender<QueuedMessage>> {
        self.messages.clone()
    }

    pub(crate) fn loss_log(&self) -> LossLog {
        let weak = self.messages.as_ref().map(mpsc::Sender::downgrade);
        // The queue exists until it is closed.
        LossLog(weak.unwrap_or_else(|| mpsc::channel(1).0.downgrade()))
    }

    /// Writes the rest of the queue, within [`LAST`].
    pub(crate) async fn close(&mut self) {
        self.messages = None;
        let _late = tokio::time::timeout(LAST, &mut self.task).await;
        self.task.abort();
    }
}

impl Drop for ClientWriter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl MessageKind {
    pub(crate) const fn of(message: &ServerJsonRpcMessage) -> Self {
        match message {
            JsonRpcMessage::Error(error) => Self::Error(error.error.code),
            JsonRpcMessage::Notification(_) | JsonRpcMessage::Request(_) => Self::Notification,
            JsonRpcMessage::Response(_) => Self::Result,
        }
    }
}

impl LossLog {
    /// The queue of this sender. It does not keep the queue open.
    pub(crate) fn new(messages: &mpsc::Sender<QueuedMessage>) -> Self {
        Self(messages.downgrade())
    }

    /// Queues the message if there is space.
    pub(crate) fn try_send(&self, bytes: Vec<u8>) {
        if let Some(messages) = self.0.upgrade() {
            let _full = messages.try_send(QueuedMessage {
                bytes,
                kind: MessageKind::Notification,
                permit: None,
            });
        }
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), mut bytes: Vec<u8>) -> io::Result<()> {
    bytes.push(b'\n');
    output.write_all(&bytes).await?;
    output.flush().await
}

/// The time limit of writing the last messages.
const LAST: Duration = Duration::from_millis(300);
/// The capacity of the queue; senders wait when it is full.
pub(crate) const QUEUE: usize = 64;
