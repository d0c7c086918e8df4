//! What a client is told: whole messages, one after another.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;

use crate::life::ConnectionLife;

/// Takes messages to a client. The connection is over when it does not take them any more.
#[derive(Debug)]
pub(crate) struct ClientWriter {
    messages: Option<mpsc::Sender<QueuedMessage>>,
    task: JoinHandle<()>,
}

/// A message, and the room that it holds until it was written.
pub(crate) struct QueuedMessage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// Where is said what gets lost if the client is slow to read.
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
                    // Whoever asked has gone.
                    life.stop();
                    break;
                }
                drop(message.room);
            }
        });
        Self {
            messages: Some(messages),
            task,
        }
    }

    /// Where messages go; `None` when it is closed.
    pub(crate) fn queue(&self) -> Option<mpsc::Sender<QueuedMessage>> {
        self.messages.clone()
    }

    pub(crate) fn aside(&self) -> LossLog {
        let weak = self.messages.as_ref().map(mpsc::Sender::downgrade);
        // There is a queue until it is closed.
        LossLog(weak.unwrap_or_else(|| mpsc::channel(1).0.downgrade()))
    }

    /// Writes what is in the queue, for a moment.
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

impl LossLog {
    /// Says it if there is room in the queue.
    pub(crate) fn say(&self, bytes: Vec<u8>) {
        if let Some(messages) = self.0.upgrade() {
            let _full = messages.try_send(QueuedMessage { bytes, room: None });
        }
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), mut bytes: Vec<u8>) -> io::Result<()> {
    bytes.push(b'\n');
    output.write_all(&bytes).await?;
    output.flush().await
}

/// How long the last messages may take.
const LAST: Duration = Duration::from_millis(300);
/// How many messages wait to be written before whoever has more waits, too.
const QUEUE: usize = 64;
