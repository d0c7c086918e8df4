//! The bytes of a client: plain, or inside of TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::certificate::Certificate;

/// A connection of a client.
pub(crate) enum ClientStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl ClientStream {
    /// Begins TLS on a connection, if the server has a certificate. A client that speaks plain HTTP instead gets an
    /// answer that says so.
    ///
    /// # Errors
    ///
    /// The client does not speak TLS, or not within this time.
    pub(crate) async fn begin(
        stream: TcpStream,
        certificate: Option<Certificate>,
        limit: Duration,
    ) -> io::Result<Self> {
        let Some(Certificate(config)) = certificate else {
            return Ok(Self::Plain(stream));
        };
        let handshake = async {
            let mut first = [0];
            stream.peek(&mut first).await?;
            if first[0].is_ascii_uppercase() {
                return Err(refuse(stream).await);
            }
            TlsAcceptor::from(config).accept(stream).await
        };
        let stream = timeout(limit, handshake).await??;
        Ok(Self::Tls(Box::new(stream)))
    }
}

/// Answers a plain request. It is read first, or the system would reset the connection before the answer arrives.
async fn refuse(mut stream: TcpStream) -> io::Error {
    let mut request = [0; 4096];
    let _read = stream.read(&mut request).await;
    let _gone = stream.write_all(REFUSAL).await;
    io::Error::other("the client does not speak TLS")
}

/// What a plain request gets, whatever it asks.
const REFUSAL: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\
    content-length: 49\r\n\r\nThis port speaks HTTPS: use an address https://.\n";

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }
}
