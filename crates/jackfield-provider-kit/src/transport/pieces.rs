//! The chunks of a body, with a time limit on the server's silence.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use jackfield_ports::chat_model::ModelError;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

use super::MAX_REPLY;
use super::fault::RequestPeer;

/// The chunks of a body. A chunk that takes too long is an error, and the last item.
pub(crate) struct TimedChunks {
    arrived: Arc<Notify>,
    body: Pin<Box<dyn HttpBody>>,
    /// The time limit for a chunk.
    max_idle: Duration,
    peer: RequestPeer,
    /// Wakes when a chunk may have taken too long. It is reset only when it has fired in vain, and not with every
    /// chunk: chunks arrive far more often than a server falls silent.
    idle_timer: Pin<Box<Sleep>>,
    /// The start of the wait for the next chunk.
    waiting_since: Option<Instant>,
}

/// A body in the form of the HTTP client.
trait HttpBody: Stream<Item = reqwest::Result<Bytes>> + Send {}

impl<T: Stream<Item = reqwest::Result<Bytes>> + Send> HttpBody for T {}

impl TimedChunks {
    /// The chunks that were read ahead, and those that follow.
    pub(super) fn new(
        arrived: Arc<Notify>,
        buffered: Vec<Bytes>,
        response: reqwest::Response,
        peer: RequestPeer,
    ) -> Self {
        let longest = peer.read_idle();
        let body: Pin<Box<dyn HttpBody>> = if buffered.is_empty() {
            Box::pin(response.bytes_stream())
        } else {
            let ahead = futures_util::stream::iter(buffered.into_iter().map(Ok));
            Box::pin(ahead.chain(response.bytes_stream()))
        };
        Self {
            arrived,
            body,
            max_idle: longest,
            peer,
            idle_timer: Box::pin(sleep(longest)),
            waiting_since: None,
        }
    }

    /// The failure for a body of more than [`MAX_REPLY`].
    pub(crate) fn too_long(&self) -> ModelError {
        self.peer.too_long(MAX_REPLY).into()
    }

    /// Checks the time limit of the current wait.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<ModelError> {
        let due = *self.waiting_since.get_or_insert_with(Instant::now) + self.max_idle;
        loop {
            ready!(self.idle_timer.as_mut().poll(context));
            if Instant::now() >= due {
                return Poll::Ready(self.peer.timed_out().into());
            }
            self.idle_timer.as_mut().reset(due);
        }
    }
}

impl Stream for TimedChunks {
    type Item = Result<Bytes, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.body.as_mut().poll_next(context) {
            Poll::Ready(Some(Ok(piece))) => {
                self.waiting_since = None;
                self.arrived.notify_one();
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(self.peer.interrupted(error)))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => self.poll_silence(context).map(|silent| Some(Err(silent))),
        }
    }
}
