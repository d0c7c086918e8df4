//! Receipts: whether the socket accepted a whole response.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::oneshot;

/// A callback with the outcome of writing a response. Dropping it reports an incomplete response.
pub(crate) struct Receipt(Option<Box<dyn FnOnce(bool) + Send>>);

impl Receipt {
    /// A receipt that reports whether the response was written whole.
    pub(crate) fn new(callback: impl FnOnce(bool) + Send + 'static) -> Self {
        Self(Some(Box::new(callback)))
    }

    pub(crate) fn complete(mut self) {
        if let Some(callback) = self.0.take() {
            callback(true);
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(callback) = self.0.take() {
            callback(false);
        }
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receipt")
    }
}

/// The receipts of responses that are still in a connection's buffer. Those left at the end of the connection
/// report an incomplete response.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiptLedger(Arc<Mutex<Vec<Receipt>>>);

impl ReceiptLedger {
    /// Completes all receipts: the buffer was flushed.
    pub(crate) fn flushed(&self) {
        let written = std::mem::take(&mut *self.lock());
        written.into_iter().for_each(Receipt::complete);
    }

    /// Waits until the socket has accepted all bytes of the connection so far.
    pub(crate) async fn wait_until_flushed(&self) {
        let (sender, flushed) = oneshot::channel::<()>();
        self.add(Receipt::new(|_| drop(sender)));
        let _flushed = flushed.await.is_err();
    }

    fn add(&self, receipt: Receipt) {
        self.lock().push(receipt);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Receipt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body that hands its receipt to the ledger of its connection with its last bytes.
pub(crate) struct ReceiptBody<B> {
    body: B,
    ended: bool,
    ledger: Option<ReceiptLedger>,
    receipt: Option<Receipt>,
}

impl<B> ReceiptBody<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<axum::BoxError>,
{
    /// Attaches a receipt to a body. Without a ledger, the response counts as written at the last chunk.
    pub(crate) fn wrap(body: B, receipt: Receipt, ledger: Option<ReceiptLedger>) -> Body {
        Body::new(Self {
            body,
            ended: false,
            ledger,
            receipt: Some(receipt),
        })
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for ReceiptBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(None) => self.ended = true,
            Poll::Ready(Some(Ok(_))) => self.ended = self.body.is_end_stream(),
            Poll::Ready(Some(Err(_))) => self.receipt = None,
            Poll::Pending => {}
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

impl<B> Drop for ReceiptBody<B> {
    fn drop(&mut self) {
        let Some(receipt) = self.receipt.take() else {
            return;
        };
        match (self.ended, &self.ledger) {
            (true, Some(ledger)) => ledger.add(receipt),
            (true, None) => receipt.complete(),
            (false, _) => drop(receipt),
        }
    }
}
