//! The Messages API, over plain HTTP on the loopback address.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

/// The events of a reply, or the status and the message of a failure.
pub(super) enum Answer {
    Events(EventStream),
    Failed(u16, String),
}

/// Why there is no answer.
pub(super) struct Unreachable;

/// The events of a reply.
pub(super) struct EventStream {
    chunked: bool,
    /// The bytes of the chunk, or of the body, that are not read yet.
    left: usize,
    /// The data of the event that has not ended.
    data: Option<Value>,
    source: BufReader<TcpStream>,
    text: Vec<u8>,
}

/// Asks for a streamed reply.
pub(super) fn ask(body: &Value) -> Result<Answer, Unreachable> {
    let url = std::env::var("ANTHROPIC_BASE_URL").unwrap_or_default();
    let host = url.strip_prefix("http://").unwrap_or_default();
    let (host, path) = host.split_once('/').unwrap_or((host, ""));
    let path = if path.is_empty() {
        String::new()
    } else {
        format!("/{path}")
    };
    let key = std::env::var("ANTHROPIC_API_KEY").unwrap_or_default();
    let body = body.to_string();
    let request = format!(
        "POST {path}/v1/messages HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\n\
         anthropic-version: 2023-06-01\r\nuser-agent: claude-cli/2.1.332 (external, sdk-cli)\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).map_err(|_| Unreachable)?;
    stream
        .write_all(request.as_bytes())
        .map_err(|_| Unreachable)?;
    let mut source = BufReader::new(stream);
    let mut line = String::new();
    source.read_line(&mut line).map_err(|_| Unreachable)?;
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status: u16 = status.ok_or(Unreachable)?;
    let mut chunked = false;
    let mut left = usize::MAX;
    loop {
        let mut header = String::new();
        source.read_line(&mut header).map_err(|_| Unreachable)?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        chunked |= header.starts_with("transfer-encoding:") && header.ends_with("chunked");
        if let Some(length) = header.strip_prefix("content-length:") {
            left = length.trim().parse().map_err(|_| Unreachable)?;
        }
    }
    let mut events = EventStream {
        chunked,
        data: None,
        left: if chunked { 0 } else { left },
        source,
        text: Vec::new(),
    };
    if status == 200 {
        return Ok(Answer::Events(events));
    }
    let mut bytes = Vec::new();
    while let Some(piece) = events.piece() {
        bytes.extend(piece);
    }
    let error: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = error.pointer("/error/message").and_then(Value::as_str);
    Ok(Answer::Failed(
        status,
        message.unwrap_or_default().to_owned(),
    ))
}

impl EventStream {
    /// The data of the next event; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                if let Some(data) = line.trim().strip_prefix("data:") {
                    self.data = Some(serde_json::from_str(data).ok()?);
                } else if line.trim().is_empty()
                    && let Some(data) = self.data.take()
                {
                    return Some(data);
                }
            }
            let piece = self.piece()?;
            self.text.extend(piece);
        }
    }

    fn piece(&mut self) -> Option<Vec<u8>> {
        if self.chunked && self.left == 0 {
            let mut line = String::new();
            while line.trim().is_empty() {
                line.clear();
                (self.source.read_line(&mut line).ok()? > 0).then_some(())?;
            }
            self.left = usize::from_str_radix(line.trim(), 16).ok()?;
            (self.left > 0).then_some(())?;
        }
        let most = self.left.min(4096);
        (most > 0).then_some(())?;
        let mut piece = vec![0; most];
        let read = self.source.read(&mut piece).ok().filter(|read| *read > 0)?;
        piece.truncate(read);
        self.left = self.left.saturating_sub(read);
        Some(piece)
    }
}
