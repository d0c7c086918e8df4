//! A server's standard input: whole messages, one after another, in the order in which they were given.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::mark::RequestMark;

/// Takes messages to the server's standard input, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ServerWriter {
    messages: Option<mpsc::UnboundedSender<WriterCommand>>,
    /// How many messages that nobody waits for are in the queue.
    replies: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

enum WriterCommand {
    Message(OutgoingMessage),
    /// Whether anything of what was written has been read, if the system says so.
    WasRead(oneshot::Sender<Option<bool>>),
}

struct OutgoingMessage {
    bytes: Vec<u8>,
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
                let wanted = message.mark.as_ref().is_none_or(RequestMark::begin);
                let ended = if wanted {
                    write(&mut input, &message.bytes).await
                } else {
                    Err(io::Error::other("it was taken back before it was written"))
                };
                let broken = wanted && ended.is_err();
                // Whoever does not wait does not want to know.
                let _gone = message.written.send(ended);
                if broken {
                    // What still waits in the queue is never written.
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

    /// Puts a message into the queue at once; the future is for when it was written.
    ///
    /// A server that asks and asks, and reads no answer, gets no more of them than are in the queue: the
    /// rest would fill the memory. Calls bear marks, and are never left out.
    pub(crate) fn send(
        &self,
        mut bytes: Vec<u8>,
        mark: Option<RequestMark>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        bytes.push(b'\n');
        let is_reply = mark.is_none();
        let full = is_reply && self.replies.load(Ordering::Relaxed) >= MOST_REPLIES;
        let (written, ended) = oneshot::channel();
        let message = OutgoingMessage {
            bytes,
            mark,
            written,
        };
        let messages = self.messages.as_ref().filter(|_| !full);
        let queued = messages.is_some_and(|messages| {
            self.replies
                .fetch_add(usize::from(is_reply), Ordering::Relaxed);
            // What cannot be sent is dropped, and its receiver knows.
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

    /// Whether the server has read anything of what it was told, if the system says so.
    pub(crate) async fn was_read(&self) -> Option<bool> {
        let (reply, answer) = oneshot::channel();
        let messages = self.messages.as_ref()?;
        // Where nothing can be written any more, nobody has read what was written last.
        if messages.send(WriterCommand::WasRead(reply)).is_err() {
            return Some(false);
        }
        let answer = tokio::time::timeout(LAST, answer).await;
        answer.ok()?.unwrap_or(Some(false))
    }

    /// Writes what is in the queue, for a moment, and ends the input.
    pub(crate) async fn close(&mut self) {
        self.messages = None;
        let _late = tokio::time::timeout(LAST, &mut self.task).await;
        self.task.abort();
    }
}

impl Drop for ServerWriter {
    fn drop(&mut self) {
        // A server that does not read must not keep its input open.
        self.task.abort();
    }
}

async fn write(input: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    input.write_all(bytes).await?;
    input.flush().await
}

/// Linux alone counts what is in a pipe at its writing end, too.
fn was_read(input: &impl AsFd, sent: u64) -> Option<bool> {
    let unread = cfg!(target_os = "linux").then(|| rustix::io::ioctl_fionread(input))?;
    unread.ok().map(|unread| unread < sent)
}

/// How long the last messages may take.
const LAST: std::time::Duration = std::time::Duration::from_millis(200);
/// How many messages may wait that nobody waits for.
const MOST_REPLIES: usize = 4096;
