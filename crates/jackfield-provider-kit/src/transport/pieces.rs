//! The pieces of a body as they come, from a server that may fall silent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use jackfield_ports::chat_model::ModelError;
use tokio::time::{Instant, Sleep, sleep};

use super::fault::RequestPeer;

/// The pieces of a body. One that is waited for too long is an error, and the last.
pub(super) struct TimedChunks {
    body: Pin<Box<dyn HttpBody>>,
    /// How long a piece may take.
    longest: Duration,
    peer: RequestPeer,
    /// Wakes when a piece may have taken too long. It is not set anew with every piece, but when it wakes in
    /// vain: pieces come far more often than a server falls silent.
    quiet: Pin<Box<Sleep>>,
    /// Since when the next piece is waited for.
    since: Option<Instant>,
}

/// A body as the client of HTTP has it.
trait HttpBody: Stream<Item = reqwest::Result<Bytes>> + Send {}

impl<T: Stream<Item = reqwest::Result<Bytes>> + Send> HttpBody for T {}

impl TimedChunks {
    /// The pieces that were read ahead, and those that follow.
    pub(super) fn new(ahead: Vec<Bytes>, response: reqwest::Response, peer: RequestPeer) -> Self {
        let longest = peer.read_idle();
        let body: Pin<Box<dyn HttpBody>> = if ahead.is_empty() {
            Box::pin(response.bytes_stream())
        } else {
            let ahead = futures_util::stream::iter(ahead.into_iter().map(Ok));
            Box::pin(ahead.chain(response.bytes_stream()))
        };
        Self {
            body,
            longest,
            peer,
            quiet: Box::pin(sleep(longest)),
            since: None,
        }
    }

    /// Waits no longer than may be, since when the wait began.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<ModelError> {
        let due = *self.since.get_or_insert_with(Instant::now) + self.longest;
        loop {
            ready!(self.quiet.as_mut().poll(context));
            if Instant::now() >= due {
                return Poll::Ready(self.peer.silent().into());
            }
            self.quiet.as_mut().reset(due);
        }
    }
}

impl Stream for TimedChunks {
    type Item = Result<Bytes, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.body.as_mut().poll_next(context) {
            Poll::Ready(Some(Ok(piece))) => {
                self.since = None;
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(self.peer.broken_off(error)))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => self.poll_silence(context).map(|silent| Some(Err(silent))),
        }
    }
}
