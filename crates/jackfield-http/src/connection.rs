//! One HTTP/1.1 connection: its limits, and the tracking of written bytes.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jackfield_gateway::Gateway;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep, timeout};

use crate::auth::OpenPlace;
use crate::certificate::Certificate;
use crate::client_stream::ClientStream;
use crate::front;
use crate::receipt::{Receipt, ReceiptBody, ReceiptLedger};

/// Serves the requests of a connection until it ends or the server shuts down.
pub(crate) async fn serve(
    stream: TcpStream,
    certificate: Option<Certificate>,
    gateway: Gateway,
    router: Router,
    place: OpenPlace,
    mut closing: watch::Receiver<bool>,
) {
    // Events are small and must not wait for more data.
    let _may_be_slow = stream.set_nodelay(true);
    let limits = gateway.config().limits;
    set_socket_limits(&stream, limits.write_time);
    let stream = ClientStream::begin(stream, certificate, limits.header_time);
    let stream = tokio::select! {
        stream = stream => stream,
        () = wait_for_close(&mut closing) => return,
        () = place.asked_to_leave() => return,
    };
    let stream = match stream {
        Ok(stream) => stream,
        Err(error) => {
            tracing::debug!(%error, "a connection has no TLS");
            return;
        }
    };
    let ledger = ReceiptLedger::default();
    let io = CountedConnection {
        write_timer: None,
        io: TokioIo::new(stream),
        ledger: ledger.clone(),
        write_timeout: limits.write_time,
    };
    let answering = place.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (gateway, ledger, router) = (gateway.clone(), ledger.clone(), router.clone());
        request.extensions_mut().insert(answering.clone());
        let busy = answering.begin();
        // hyper keeps space for this future as long as the connection lives. Boxed, that is only a pointer.
        Box::pin(async move {
            let response = front::answer(request, &gateway, ledger.clone(), router).await;
            let sent = Receipt::new(move |_| drop(busy));
            let response = response.map(|body| ReceiptBody::wrap(body, sent, Some(ledger)));
            Ok::<_, Infallible>(response)
        })
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(BUFFER)
        // One read may put more into the buffer than its maximum, so the head has a limit of its own.
        .max_header_size(BUFFER);
    if limits.headers != HEADERS {
        // With its default maximum, hyper keeps the headers inline; a configured maximum makes it allocate.
        builder.max_headers(limits.headers);
    }
    let connection = builder.serve_connection(io, service);
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = wait_for_close(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = place.asked_to_leave() => {
            if !place.has_asked() {
                return;
            }
            connection.as_mut().graceful_shutdown();
            match timeout(LEAVE, connection.as_mut()).await {
                Ok(served) => served,
                Err(_) if place.is_busy() => connection.await,
                // It still sends a body that was refused.
                Err(_) => return,
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Waits for the shutdown of the server.
async fn wait_for_close(closing: &mut watch::Receiver<bool>) {
    // A dropped sender means that the server has ended, too.
    let _gone = closing.wait_for(|closing| *closing).await.is_err();
}

/// Limits the socket's send buffer to [`AHEAD`], as the system would buffer megabytes for a client that reads
/// nothing. Also sets `TCP_USER_TIMEOUT` (RFC 5482), which closes the connection of a client that acknowledges
/// nothing for this long. Without it, a client that vanished would keep its slot for a quarter of an hour.
fn set_socket_limits(stream: &TcpStream, timeout: Duration) {
    #[cfg(unix)]
    if let Err(error) = rustix::net::sockopt::set_socket_send_buffer_size(stream, AHEAD) {
        tracing::debug!(%error, "a client may have more in its buffers");
    }
    #[cfg(target_os = "linux")]
    {
        let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, millis) {
            tracing::debug!(%error, "a client that is gone is noticed later");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _elsewhere = (stream, timeout);
}

/// A connection that reports when all written bytes were flushed, and fails when its client reads nothing for too
/// long.
struct CountedConnection {
    /// The write timeout, armed while the client reads nothing.
    write_timer: Option<Pin<Box<Sleep>>>,
    io: TokioIo<ClientStream>,
    ledger: ReceiptLedger,
    /// How long the client may read nothing.
    write_timeout: Duration,
}

impl CountedConnection {
    /// Updates the write timeout with the result of a write.
    fn check_write_timeout(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if wrote.is_ready() {
            self.write_timer = None;
            return wrote;
        }
        let write_timeout = self.write_timeout;
        let write_timer = self
            .write_timer
            .get_or_insert_with(|| Box::pin(sleep(write_timeout)));
        ready!(write_timer.as_mut().poll(context));
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
        self.check_write_timeout(context, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes when its own buffer is empty.
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
        self.check_write_timeout(context, wrote)
    }
}

/// How long an idle connection that makes room may take to end.
const LEAVE: Duration = Duration::from_millis(250);

/// hyper's default maximum of headers.
const HEADERS: usize = 100;

/// The size of the send buffer. Bytes count as read by the client once they fit into it, so this bounds how far
/// that is wrong.
#[cfg(unix)]
const AHEAD: usize = 128 << 10;

/// The maximum size of a request head, and of one read of a body.
const BUFFER: usize = 64 << 10;
