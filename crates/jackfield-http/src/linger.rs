//! Request bodies that are read on after an early answer.
//!
//! A request that is answered before its body was read (401, 404, 413) must not end its connection at once: the
//! system would reset it, and the client would lose the answer while it still sends. So what is left of the
//! body is read and thrown away, for a bounded time.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::EXPECT;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;

/// A body of which the rest is read when it is dropped.
#[derive(Debug)]
pub(crate) struct LingerBody {
    body: Option<Incoming>,
    /// Whether the client sends its body without waiting for `100 Continue`, which an early answer replaces.
    lingers: bool,
}

impl LingerBody {
    /// The request, with a body that lingers.
    pub(crate) fn of(request: Request<Incoming>) -> Request<Self> {
        let lingers = !request.headers().contains_key(EXPECT);
        request.map(|body| Self {
            body: Some(body),
            lingers,
        })
    }
}

impl Drop for LingerBody {
    fn drop(&mut self) {
        let Some(mut body) = self.body.take() else {
            return;
        };
        if !self.lingers || body.is_end_stream() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(tokio::time::timeout(LINGER, async move {
            while let Some(Ok(_)) = body.frame().await {}
        }));
    }
}

impl Body for LingerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

/// How long a body is read after its answer. Clients on this machine and its network have sent 20 MB by then.
const LINGER: Duration = Duration::from_secs(5);
