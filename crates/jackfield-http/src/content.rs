//! Logs the bodies of requests and responses as they pass. Off unless configured, since the log then contains
//! every conversation.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// Which side sent the body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodySide {
    Answer,
    Request,
}

/// A body whose chunks are logged with the request id.
pub(crate) struct LoggedBody<B> {
    body: B,
    request: String,
    side: BodySide,
}

impl<B> LoggedBody<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<axum::BoxError>,
{
    /// Wraps a body so that it is logged.
    pub(crate) fn wrap(body: B, request: &str, side: BodySide) -> Body {
        Body::new(Self {
            body,
            request: request.to_owned(),
            side,
        })
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for LoggedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            let (request, text) = (&self.request, String::from_utf8_lossy(data));
            match self.side {
                BodySide::Answer => tracing::info!(%request, %text, "said"),
                BodySide::Request => tracing::info!(%request, %text, "asked"),
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
