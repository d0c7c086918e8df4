//! Just enough of HTTP for a toy: one request on one connection, and the bytes of its answer.

use std::io;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer whose head is there.
pub(super) struct Answer {
    pub(super) body: Body,
    pub(super) headers: HeaderMap,
    pub(super) status: u16,
}

/// A body that is still coming, and how it is framed.
pub(super) struct Body {
    framing: Framing,
    raw: Vec<u8>,
    stream: TcpStream,
    /// Takes what is no size of a chunk for the end.
    pub(super) takes_any_chunk: bool,
}

enum Framing {
    /// The bytes that are left of a chunk; those of the next are not known yet.
    Chunk(usize),
    /// At the end of a chunk.
    ChunkEnd,
    /// Before the size of a chunk.
    ChunkSize,
    Complete,
    /// After the last chunk.
    LastChunk,
    Length(usize),
    UntilClosed,
}

/// Connects; an error here is before anything was sent.
pub(super) async fn connect(address: &str) -> io::Result<TcpStream> {
    TcpStream::connect(address).await
}

pub(super) async fn ask(mut stream: TcpStream, head: &[u8], body: &Bytes) -> io::Result<Answer> {
    stream.write_all(head).await?;
    stream.write_all(body).await?;
    let mut raw = Vec::new();
    let end = loop {
        if let Some(end) = raw.windows(4).position(|w| w == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut raw).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let head = String::from_utf8(raw[..end].to_vec()).map_err(|_| invalid())?;
    raw.drain(..end + 4);
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|first| first.strip_prefix("HTTP/1.1 "));
    let status = status.and_then(|rest| rest.split(' ').next()?.parse().ok());
    let status = status.ok_or_else(invalid)?;
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(invalid)?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let value = HeaderValue::from_str(value.trim()).map_err(|_| invalid())?;
        headers.append(name, value);
    }
    let length = headers.get("content-length");
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let framing = match length {
        _ if headers.contains_key("transfer-encoding") => Framing::ChunkSize,
        _ if status == 204 => Framing::Complete,
        Some(length) => Framing::Length(length),
        None => Framing::UntilClosed,
    };
    Ok(Answer {
        body: Body {
            framing,
            raw,
            stream,
            takes_any_chunk: false,
        },
        headers,
        status,
    })
}

impl Body {
    /// The next bytes as they come; none at the end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.framing {
                Framing::Complete | Framing::Length(0) => return Ok(None),
                Framing::Chunk(0) => self.framing = Framing::ChunkEnd,
                Framing::Chunk(left) if !self.raw.is_empty() => {
                    let piece = self.take(left);
                    self.framing = Framing::Chunk(left - piece.len());
                    return Ok(Some(piece));
                }
                Framing::Length(left) if !self.raw.is_empty() => {
                    let piece = self.take(left);
                    self.framing = Framing::Length(left - piece.len());
                    return Ok(Some(piece));
                }
                Framing::UntilClosed if !self.raw.is_empty() => {
                    return Ok(Some(std::mem::take(&mut self.raw)));
                }
                Framing::UntilClosed => {
                    if !self.fill().await? {
                        self.framing = Framing::Complete;
                    }
                }
                Framing::Chunk(_) | Framing::Length(_) => self.more().await?,
                Framing::ChunkEnd => {
                    let line = self.line().await?;
                    if !line.is_empty() && !self.takes_any_chunk {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    self.framing = Framing::ChunkSize;
                }
                Framing::ChunkSize => {
                    let line = self.line().await?;
                    self.framing = match size(&line) {
                        Some(0) => Framing::LastChunk,
                        Some(size) => Framing::Chunk(size),
                        None if self.takes_any_chunk => Framing::Complete,
                        None => return Err(io::ErrorKind::InvalidData.into()),
                    };
                }
                Framing::LastChunk => {
                    if self.line().await?.is_empty() {
                        self.framing = Framing::Complete;
                    }
                }
            }
        }
    }

    fn take(&mut self, most: usize) -> Vec<u8> {
        let count = most.min(self.raw.len());
        self.raw.drain(..count).collect()
    }

    /// A line, without its end.
    async fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.raw.windows(2).position(|w| w == b"\r\n") {
                let mut line = self.take(at + 2);
                line.truncate(at);
                return Ok(line);
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        if self.fill().await? {
            return Ok(());
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    /// Reads more bytes; false at the end.
    async fn fill(&mut self) -> io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.raw).await? > 0)
    }
}

fn size(line: &[u8]) -> Option<usize> {
    let digits = std::str::from_utf8(line).ok()?;
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    usize::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}
