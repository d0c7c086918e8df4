//! One connection: HTTP/1.1 within bounds, and a ledger of what has left it.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use axum::Router;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::front;
use crate::gateway::Gateway;
use crate::receipt::Ledger;

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
    let ledger = Ledger::default();
    let io = Counted {
        io: TokioIo::new(stream),
        ledger: ledger.clone(),
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
        .max_buf_size(BUFFER);
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

/// A connection that says when everything that was written to it has been taken.
struct Counted {
    io: TokioIo<TcpStream>,
    ledger: Ledger,
}

impl Read for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
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
        Pin::new(&mut self.io).poll_write_vectored(context, pieces)
    }
}

/// How many headers are taken where nothing is said.
const HEADERS: usize = 100;

/// The largest head of a request, and what is read of a body at once.
const BUFFER: usize = 64 << 10;
