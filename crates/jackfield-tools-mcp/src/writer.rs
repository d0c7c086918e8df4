//! Writes whole messages to a server's standard input, in order.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jackfield_ports::call_context::CallContext;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::mark::{RequestMark, WriteClaim};

/// Writes messages to the server's standard input, which is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct ServerWriter {
    messages: Option<mpsc::UnboundedSender<WriterCommand>>,
    /// The number of queued replies, whose sender does not wait for the write.
    replies: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

enum WriterCommand {
    Message(OutgoingMessage),
    /// Whether the server has read any of the written bytes, if the system can tell.
    WasRead(oneshot::Sender<Option<bool>>),
}

struct OutgoingMessage {
    bytes: Vec<u8>,
    call: CallContext,
    mark: Option<RequestMark>,
    written: oneshot::Sender<io::Result<()>>,
}

impl ServerWriter {
    pub(crate) fn new(mut input: impl AsFd + AsyncWrite + Send + Sync + Unpin + 'static) -> Self {
        let (messages, mut queue) = mpsc::unbounded_channel::<WriterCommand>();
        let replies = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&replies);
        let task = tokio::spawn(async move {
            let mut sent = 0_u64;
            while let Some(demand) = queue.recv().await {
                let message = match demand {
                    WriterCommand::Message(message) => message,
                    WriterCommand::WasRead(reply) => {
                        let _gone = reply.send(was_read(&input, sent));
                        continue;
                    }
                };
                if message.mark.is_none() {
                    written.fetch_sub(1, Ordering::Relaxed);
                }
                sent += message.bytes.len() as u64;
                let is_claimed = match &message.mark {
                    Some(mark) => mark.begin() == WriteClaim::Begun,
                    None => message.call.begin().is_ok(),
                };
                let ended = if is_claimed {
                    write(&mut input, &message.bytes).await
                } else {
                    Err(io::Error::other("it was taken back before it was written"))
                };
                let broken = is_claimed && ended.is_err();
                // The sender may not wait for the result.
                let _gone = message.written.send(ended);
                if broken {
                    // The messages left in the queue are never written.
                    break;
                }
            }
        });
        Self {
            messages: Some(messages),
            replies,
            task,
        }
    }

    /// Queues a message at once; the future completes when it was written.
    ///
    /// If a server keeps sending requests and reads no replies, further replies are dropped once the queue is full,
    /// to bound the memory. Calls carry marks and are never dropped.
    pub(crate) fn send(
        &self,
        mut bytes: Vec<u8>,
        call: CallContext,
        mark: Option<RequestMark>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        bytes.push(b'\n');
        let is_reply = mark.is_none();
        let full = is_reply && self.replies.load(Ordering::Relaxed) >= MAX_REPLIES;
        let (written, ended) = oneshot::channel();
        let message = OutgoingMessage {
            bytes,
            call,
            mark,
            written,
        };
        let messages = self.messages.as_ref().filter(|_| !full);
        let queued = messages.is_some_and(|messages| {
            self.replies
                .fetch_add(usize::from(is_reply), Ordering::Relaxed);
            // A message that cannot be queued is dropped, which its receiver detects.
            messages.send(WriterCommand::Message(message)).is_ok()
        });
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            if queued {
                ended.await.unwrap_or_else(|_| Err(closed()))
            } else {
                Err(closed())
            }
        }
    }

    /// Whether the server has read any of its input, if the system can tell.
    pub(crate) async fn was_read(&self) -> Option<bool> {
        let (reply, answer) = oneshot::channel();
        let messages = self.messages.as_ref()?;
        // If the writer has ended, the server has not read the last message.
        if messages.send(WriterCommand::WasRead(reply)).is_err() {
            return Some(false);
        }
        let answer = tokio::time::timeout(LAST, answer).await;
        answer.ok()?.unwrap_or(Some(false))
    }

    /// Writes the queued messages within a time limit, and closes the input.
    pub(crate) async fn close(&mut self) {
        self.messages = None;
        let _late = tokio::time::timeout(LAST, &mut self.task).await;
        self.task.abort();
    }
}

impl Drop for ServerWriter {
    fn drop(&mut self) {
        // The input must be closed even if the server does not read it.
        self.task.abort();
    }
}

async fn write(input: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    input.write_all(bytes).await?;
    input.flush().await
}

/// Only Linux can count the bytes in a pipe at its writing end.
fn was_read(input: &impl AsFd, sent: u64) -> Option<bool> {
    let unread = cfg!(target_os = "linux").then(|| rustix::io::ioctl_fionread(input))?;
    unread.ok().map(|unread| unread < sent)
}

/// The time limit for the last messages.
const LAST: std::time::Duration = std::time::Duration::from_millis(200);
const MAX_REPLIES: usize = 4096;
