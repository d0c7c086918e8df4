//! Just enough of HTTP for a toy: one request on one connection, and its answer in lines.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer whose head is there.
pub(super) struct Answer {
    pub(super) headers: String,
    pub(super) status: u16,
    body: Body,
    event: Event,
}

/// A server-sent event that is still coming. A carriage return ends a line, whatever follows.
#[derive(Default)]
struct Event {
    after_return: bool,
    data: Vec<u8>,
    line: Vec<u8>,
}

impl Event {
    /// Takes a byte; whether the event is whole.
    fn take(&mut self, byte: u8) -> bool {
        let is_second = self.after_return && byte == b'\n';
        self.after_return = byte == b'\r';
        match byte {
            _ if is_second => false,
            b'\r' | b'\n' if self.line.is_empty() => !self.data.is_empty(),
            b'\r' | b'\n' => {
                self.data
                    .extend(self.line.strip_prefix(b"data: ").unwrap_or_default());
                self.line.clear();
                false
            }
            _ => {
                self.line.push(byte);
                false
            }
        }
    }
}

/// A body that is still coming, and how it is framed.
struct Body {
    chunked: bool,
    left: Option<usize>,
    loses_newlines: bool,
    plain: Vec<u8>,
    raw: Vec<u8>,
    stream: TcpStream,
    whole: bool,
}

/// Connects; an error here is before anything was sent.
pub(super) async fn connect(address: &str) -> io::Result<TcpStream> {
    TcpStream::connect(address).await
}

pub(super) async fn ask(mut stream: TcpStream, key: &str, body: &str) -> io::Result<Answer> {
    let length = body.len();
    let request = format!(
        "POST /reply HTTP/1.1\r\nhost: acme\r\nx-acme-key: {key}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut raw = Vec::new();
    let end = loop {
        if let Some(end) = raw.windows(4).position(|w| w == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut raw).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let headers = String::from_utf8_lossy(&raw[..end]).to_lowercase();
    raw.drain(..end + 4);
    let status = headers.split(' ').nth(1).and_then(|text| text.parse().ok());
    let value = |name: &str| {
        let line = headers.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    Ok(Answer {
        status: status.ok_or(io::ErrorKind::InvalidData)?,
        body: Body {
            chunked: value("transfer-encoding").is_some(),
            left: value("content-length").and_then(|text| text.parse().ok()),
            loses_newlines: false,
            plain: Vec::new(),
            raw,
            stream,
            whole: false,
        },
        event: Event::default(),
        headers,
    })
}

impl Answer {
    /// Whether a line's end gets lost where a chunk begins with it.
    pub(super) const fn loses_newlines(&mut self, loses: bool) {
        self.body.loses_newlines = loses;
    }

    /// The next line; none at the end, whatever stands after the last one.
    pub(super) async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let plain = &mut self.body.plain;
            if let Some(end) = plain.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = plain.drain(..=end).collect();
                line.pop();
                return Ok(Some(line));
            }
            if !self.body.more().await? {
                return Ok(None);
            }
        }
    }

    /// The data of the next event; none at the end, whatever stands after the last one.
    pub(super) async fn event(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let plain = &mut self.body.plain;
            if let Some(end) = plain.iter().position(|byte| self.event.take(*byte)) {
                plain.drain(..=end);
                return Ok(Some(std::mem::take(&mut self.event.data)));
            }
            plain.clear();
            if !self.body.more().await? {
                return Ok(None);
            }
        }
    }

    /// The next bytes as they come, wherever they are cut.
    pub(super) async fn bytes(&mut self) -> io::Result<Option<Vec<u8>>> {
        let more = self.body.more().await?;
        Ok(more.then(|| std::mem::take(&mut self.body.plain)))
    }

    /// All of the body, as far as it comes, and whether it broke off.
    pub(super) async fn rest(mut self) -> (String, io::Result<()>) {
        let end = loop {
            match self.body.more().await {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        (String::from_utf8_lossy(&self.body.plain).into_owned(), end)
    }
}

impl Body {
    /// Takes some more of the body into `plain`; false at its end.
    async fn more(&mut self) -> io::Result<bool> {
        loop {
            if self.whole || (!self.chunked && self.left == Some(0)) {
                return Ok(false);
            }
            if self.take() {
                return Ok(true);
            }
            if self.whole {
                return Ok(false);
            }
            if self.stream.read_buf(&mut self.raw).await? == 0 {
                let promised = self.chunked || self.left.is_some();
                return if promised {
                    Err(io::ErrorKind::UnexpectedEof.into())
                } else {
                    Ok(false)
                };
            }
        }
    }

    /// Takes what is there of the framing; whether that was any bytes.
    fn take(&mut self) -> bool {
        if !self.chunked {
            let count = self
                .left
                .map_or(self.raw.len(), |left| left.min(self.raw.len()));
            self.plain.extend(self.raw.drain(..count));
            self.left = self.left.map(|left| left - count);
            return count > 0;
        }
        let Some(at) = self.raw.windows(2).position(|w| w == b"\r\n") else {
            return false;
        };
        let size = String::from_utf8_lossy(&self.raw[..at]).into_owned();
        let size = usize::from_str_radix(&size, 16).unwrap_or(0);
        if self.raw.len() < at + 2 + size + 2 {
            return false;
        }
        self.whole = size == 0;
        let skipped = usize::from(self.loses_newlines && self.raw[at + 2] == b'\n');
        self.plain.extend(
            self.raw
                .drain(..at + 2 + size + 2)
                .skip(at + 2)
                .take(size)
                .skip(skipped),
        );
        size > 0
    }
}
