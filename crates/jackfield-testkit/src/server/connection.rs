//! One connection: parses requests, and writes responses step by step.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

use super::{ConnectionEnd, RecordedRequest, Response, ResponseStep, TestServerHandle};

/// Serves one connection until either side closes it.
pub(super) async fn serve(stream: TcpStream, shared: Arc<TestServerHandle>) {
    let number = shared.lock().connections - 1;
    let end = watch::Sender::new(ConnectionEnd::Open);
    // Each write is sent at once. If this option cannot be set, writes are only delayed.
    let _set = stream.set_nodelay(true).is_ok();
    let (read, mut write) = stream.into_split();
    let mut incoming = IncomingBytes {
        buffer: BytesMut::new(),
        read,
    };
    let connection_end = loop {
        let Some(request) = incoming.request(number, end.subscribe()).await else {
            break ConnectionEnd::ByClient;
        };
        let response = shared.record(request);
        let answered = tokio::select! {
            answered = answer(&mut write, &response) => answered,
            () = incoming.closed() => break ConnectionEnd::ByClient,
        };
        match answered {
            Ok(ConnectionAction::KeepOpen) => {}
            Ok(ConnectionAction::Close) => break ConnectionEnd::ByServer,
            Ok(ConnectionAction::Reset) => {
                // Dropping this half would close the connection regularly first.
                write.forget();
                break ConnectionEnd::ByServer;
            }
            // A client that is gone shows as a write error or as the end of input.
            Err(_) => break ConnectionEnd::ByClient,
        }
    };
    end.send_replace(connection_end);
}

/// The action on the connection after a response.
enum ConnectionAction {
    Close,
    KeepOpen,
    Reset,
}

async fn answer(write: &mut OwnedWriteHalf, response: &Response) -> io::Result<ConnectionAction> {
    write.write_all(&response.head()).await?;
    for step in &response.steps {
        match step {
            ResponseStep::CutOff => {
                write.shutdown().await?;
                return Ok(ConnectionAction::Close);
            }
            ResponseStep::Pause(gate) => gate.pass().await,
            ResponseStep::Reset => {
                write.as_ref().set_zero_linger()?;
                return Ok(ConnectionAction::Reset);
            }
            ResponseStep::Send(bytes) => write.write_all(&response.frame(bytes)).await?,
            ResponseStep::Stall => std::future::pending().await,
        }
    }
    write.write_all(response.ending()).await?;
    if response.keeps_open() {
        return Ok(ConnectionAction::KeepOpen);
    }
    write.shutdown().await?;
    Ok(ConnectionAction::Close)
}

/// The input from the client.
struct IncomingBytes {
    buffer: BytesMut,
    read: OwnedReadHalf,
}

impl IncomingBytes {
    /// The next complete request; `None` if the client closes, or sends an invalid one.
    async fn request(
        &mut self,
        connection: usize,
        end: watch::Receiver<ConnectionEnd>,
    ) -> Option<RecordedRequest> {
        let head = self.take_until(b"\r\n\r\n").await?;
        let head = std::str::from_utf8(&head).ok()?;
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let header = |wanted: &str| {
            let found = headers.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        let body = if header("transfer-encoding") == Some("chunked") {
            self.take_chunks().await?
        } else {
            let length = header("content-length").unwrap_or("0").parse().ok()?;
            self.take(length).await?
        };
        Some(RecordedRequest {
            body,
            connection,
            headers,
            method,
            path,
            end,
        })
    }

    /// Waits until the client closes; keeps all input before that.
    async fn closed(&mut self) {
        while self.fill().await.is_some() {}
    }

    async fn take_chunks(&mut self) -> Option<Bytes> {
        let mut body = BytesMut::new();
        loop {
            let size = self.take_until(b"\r\n").await?;
            let size = std::str::from_utf8(&size).ok()?;
            let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
            let chunk = self.take(size).await?;
            self.take(2).await?;
            if size == 0 {
                return Some(body.freeze());
            }
            body.extend_from_slice(&chunk);
            if body.len() > MAX_REQUEST {
                return None;
            }
        }
    }

    /// The bytes before the next `end`, which is removed as well.
    async fn take_until(&mut self, end: &[u8]) -> Option<Bytes> {
        loop {
            let found = self.buffer.windows(end.len()).position(|w| w == end);
            if let Some(at) = found {
                let mut taken = self.buffer.split_to(at + end.len());
                taken.truncate(at);
                return Some(taken.freeze());
            }
            self.fill().await?;
        }
    }

    async fn take(&mut self, length: usize) -> Option<Bytes> {
        while self.buffer.len() < length {
            self.fill().await?;
        }
        Some(self.buffer.split_to(length).freeze())
    }

    /// Reads more bytes; `None` at the end, after an error, and above the limit.
    async fn fill(&mut self) -> Option<()> {
        let read = self.read.read_buf(&mut self.buffer).await.ok()?;
        (read > 0 && self.buffer.len() <= MAX_REQUEST).then_some(())
    }
}

/// The largest request in bytes.
const MAX_REQUEST: usize = 64 << 20;
