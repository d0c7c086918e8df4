//! An output of a child process, which ends with the process.

use std::convert::Infallible;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::io::ioctl_fionread;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::oneshot;

/// An output of a child. It ends when no process holds it any more; but also, once the [`Child`](crate::Child) has
/// noticed the end of the process, when what is in the pipe was read. Another process that inherited it may hold it
/// open for as long as it likes.
#[derive(Debug)]
pub struct Output<P> {
    /// Closed when the process has ended; `None` from then on.
    ended: Option<oneshot::Receiver<Infallible>>,
    pipe: P,
}

impl<P> Output<P> {
    pub(crate) const fn new(pipe: P, ended: oneshot::Receiver<Infallible>) -> Self {
        Self {
            ended: Some(ended),
            pipe,
        }
    }
}

impl<P: AsFd + AsyncRead + Unpin> AsyncRead for Output<P> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Poll::Ready(read) = Pin::new(&mut this.pipe).poll_read(context, into) {
            return Poll::Ready(read);
        }
        if let Some(ended) = &mut this.ended
            && Pin::new(ended).poll(context).is_ready()
        {
            this.ended = None;
        }
        // What is in the pipe wakes this task, even if the runtime has not heard of it yet.
        let is_read = || ioctl_fionread(&this.pipe).unwrap_or_default() == 0;
        if this.ended.is_none() && is_read() {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }
}
