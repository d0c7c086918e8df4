//! The body of a request that begins a call.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use jackfield_ports::call_context::{CallContext, LeasePassed};

/// A body that is handed to the connection only while its call may begin. In HTTP/1, the only version that the client
/// speaks, head and body go out together, so that nothing is written before.
struct LeasedBody {
    bytes: Bytes,
    call: CallContext,
}

/// The body of a request of this call. An empty one asks nothing: its request begins when it is handed over.
pub(crate) fn body(bytes: Bytes, call: &CallContext) -> reqwest::Body {
    if call.lease().is_never() || bytes.is_empty() {
        return bytes.into();
    }
    let call = call.clone();
    reqwest::Body::wrap(LeasedBody { bytes, call })
}

impl Body for LeasedBody {
    type Data = Bytes;
    type Error = LeasePassed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, LeasePassed>>> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.is_empty() {
            return Poll::Ready(None);
        }
        let begun = self.call.begin();
        Poll::Ready(Some(begun.map(|()| Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
