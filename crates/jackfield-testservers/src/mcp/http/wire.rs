//! HTTP/1.1 as far as it is needed: one request for each connection.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

pub(super) struct WireRequest {
    pub(super) body: Vec<u8>,
    /// By names in lower case.
    pub(super) headers: HashMap<String, String>,
    pub(super) method: String,
    pub(super) path: String,
}

impl WireRequest {
    pub(super) fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut source = BufReader::new(stream);
        let mut line = String::new();
        source.read_line(&mut line)?;
        let mut parts = line.split(' ');
        let method = parts.next().unwrap_or_default().to_owned();
        let path = parts.next().unwrap_or_default().to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            if source.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                headers.insert(name.trim().to_lowercase(), value.trim().to_owned());
            }
        }
        let length = headers.get("content-length");
        let length = length.and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        source.read_exact(&mut body)?;
        Ok(Self {
            body,
            headers,
            method,
            path,
        })
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value)
    }
}

/// Answers with a whole body.
pub(super) fn answer(
    mut stream: &TcpStream,
    status: u64,
    media_type: &str,
    extra: &str,
    body: &str,
) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Scripted\r\nconnection: close\r\ncontent-length: {length}\r\n"
    )?;
    if !media_type.is_empty() {
        write!(stream, "content-type: {media_type}\r\n")?;
    }
    write!(stream, "{extra}\r\n{body}")?;
    stream.flush()
}

/// Begins a stream of events, which the end of the connection ends.
pub(super) fn begin_events(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n",
    )?;
    stream.flush()
}

pub(super) fn event(mut stream: &TcpStream, id: Option<&str>, data: &str) -> io::Result<()> {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    stream.write_all(format!("{id}data: {data}\n\n").as_bytes())?;
    stream.flush()
}

/// Sends text that is no event.
pub(super) fn text(mut stream: &TcpStream, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Waits until the client has closed the connection.
pub(super) fn wait_for_close(mut stream: &TcpStream) {
    let mut rest = [0; 64];
    while matches!(stream.read(&mut rest), Ok(read) if read > 0) {}
}
