//! One connection: HTTP/1.1 within bounds, and a ledger of what has left it.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use crate::front;
use crate::gateway::Gateway;
use crate::receipt::ReceiptLedger;

/// Answers the requests of a connection until it ends, or until the server does.
pub(crate) async fn serve(
    stream: TcpStream,
    gateway: Gateway,
    router: Router,
    mut closing: watch::Receiver<bool>,
) {
    // Events are small, and are to arrive one by one.
    let _may_be_slow = stream.set_nodelay(true);
    let limits = gateway.shared.config.serve.limits;
    bound(&stream, limits.write_time);
    let ledger = ReceiptLedger::default();
    let io = CountedConnection {
        given_up: None,
        io: TokioIo::new(stream),
        ledger: ledger.clone(),
        patience: limits.write_time,
    };
    let service = service_fn(move |request| {
        let (gateway, ledger, router) = (gateway.clone(), ledger.clone(), router.clone());
        // The connection keeps the room of this for as long as it lives: there is no more in it than a place.
        Box::pin(async move {
            Ok::<_, Infallible>(front::answer(request, &gateway, ledger, router).await)
        })
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(BUFFER)
        // What the buffer takes in one go may be more than it is to hold.
        .max_header_size(BUFFER);
    if limits.headers != HEADERS {
        // As many as it takes by itself, it keeps in place.
        builder.max_headers(limits.headers);
    }
    let connection = builder.serve_connection(io, service);
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = closed(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Waits until the server ends.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // A server that is gone has ended, too.
    let _gone = closing.wait_for(|closing| *closing).await.is_err();
}

/// Has the system hold no more for a client than [`AHEAD`], which would be megabytes for one that reads
/// nothing; and give up a client that does not say for so long that anything has arrived: one that is gone
/// without a word would have its place for a quarter of an hour otherwise (`TCP_USER_TIMEOUT`, RFC 5482).
fn bound(stream: &TcpStream, patience: Duration) {
    #[cfg(unix)]
    if let Err(error) = rustix::net::sockopt::set_socket_send_buffer_size(stream, AHEAD) {
        tracing::debug!(%error, "a client may have more in its buffers");
    }
    #[cfg(target_os = "linux")]
    {
        let millis = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
        if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, millis) {
            tracing::debug!(%error, "a client that is gone is noticed later");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _elsewhere = (stream, patience);
}

/// A connection that says when everything that was written to it has been taken, and that fails when its
/// client takes nothing for too long.
struct CountedConnection {
    /// When it fails, while its client takes nothing.
    given_up: Option<Pin<Box<Sleep>>>,
    io: TokioIo<TcpStream>,
    ledger: ReceiptLedger,
    /// How long a client may take nothing.
    patience: Duration,
}

impl CountedConnection {
    /// What became of a write.
    fn wrote(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if wrote.is_ready() {
            self.given_up = None;
            return wrote;
        }
        let patience = self.patience;
        let given_up = self
            .given_up
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(given_up.as_mut().poll(context));
        let why = "the client takes nothing of its answer";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

impl Read for CountedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for CountedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write(context, bytes);
        self.wrote(context, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Asked for when the buffer above is empty.
        ready!(Pin::new(&mut self.io).poll_flush(context))?;
        self.ledger.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write_vectored(context, pieces);
        self.wrote(context, wrote)
    }
}

/// How many headers are taken where nothing is said.
const HEADERS: usize = 100;

/// How much lies between a client and what is written to it. It takes some of that before more is written,
/// and that is all that is seen of what it takes.
#[cfg(unix)]
const AHEAD: usize = 128 << 10;

/// The largest head of a request, and what is read of a body at once.
const BUFFER: usize = 64 << 10;
