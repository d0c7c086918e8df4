//! The body of a response: whole, or event by event at a pace.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Interval, MissedTickBehavior};

use super::ReplyPace;

/// A body whose pieces are all known, each sent when its time has come.
#[derive(Debug)]
pub(super) struct TimedBody {
    /// Whether the length is told before; that of a stream would tell its end before it came.
    has_length: bool,
    pieces: VecDeque<Bytes>,
    ticks: Option<Interval>,
}

impl TimedBody {
    /// One piece, sent at once.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self {
            has_length: true,
            pieces: VecDeque::from([bytes.into()]),
            ticks: None,
        }
    }

    /// These pieces, one after another.
    pub(super) fn paced(pieces: VecDeque<Bytes>, pace: ReplyPace) -> Self {
        let ticks = pace.0.filter(|pause| !pause.is_zero()).map(|pause| {
            let mut ticks = tokio::time::interval(pause);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        Self {
            has_length: false,
            pieces,
            ticks,
        }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.pieces.is_empty() {
            return Poll::Ready(None);
        }
        if let Some(ticks) = &mut self.ticks {
            ready!(ticks.poll_tick(context));
        }
        let piece = self.pieces.pop_front();
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if !self.has_length {
            return SizeHint::default();
        }
        let sizes = self.pieces.iter().map(|piece| piece.len() as u64);
        SizeHint::with_exact(sizes.sum())
    }
}
