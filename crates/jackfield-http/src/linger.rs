//! Drains request bodies after an early response.
//!
//! A response sent before the body was read (401, 404, 413) must not close the connection at once: the system
//! would reset it, and the client, which is still sending, would lose the response. So the rest of the body is
//! read and discarded, for a bounded time.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::EXPECT;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;

/// A body whose rest is drained when it is dropped.
#[derive(Debug)]
pub(crate) struct LingerBody {
    body: Option<Incoming>,
    /// Whether to drain it. A client that waits for `100 Continue` gets the early response instead, and sends no
    /// body.
    lingers: bool,
}

impl LingerBody {
    /// Wraps the body of a request.
    pub(crate) fn wrap(request: Request<Incoming>) -> Request<Self> {
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

/// How long a body is drained after its response. Clients on this machine and its network have sent 20 MB by
/// then.
const LINGER: Duration = Duration::from_secs(5);
