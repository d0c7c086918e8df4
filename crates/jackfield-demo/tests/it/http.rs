//! A client that sends one request and reads everything that comes back.

#![expect(clippy::unwrap_used, reason = "a broken connection fails the test")]

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// How many chunks the body came in; none if it came whole.
    pub(crate) chunks: usize,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }
}

pub(crate) async fn post(base_url: &str, path: &str, body: &str) -> Response {
    let key = [("x-api-key", "any"), ("anthropic-version", "2026-10-21")];
    send(base_url, "POST", path, &key, body).await
}

pub(crate) async fn get(base_url: &str, path: &str) -> Response {
    let key = [
        ("authorization", "Bearer any"),
        ("anthropic-version", "2026-10-21"),
    ];
    send(base_url, "GET", path, &key, "").await
}

pub(crate) async fn send(
    base_url: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response {
    let address = base_url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!(
        "content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    ));
    stream.write_all(head.as_bytes()).await.unwrap();
    // A server that has read enough may close before it has read all.
    let _sent = stream.write_all(body.as_bytes()).await;
    let mut bytes = Vec::new();
    while !is_whole(&bytes) {
        match stream.read_buf(&mut bytes).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
    }
    let text = String::from_utf8(bytes).unwrap();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let head = head.to_ascii_lowercase();
    let (body, chunks) = if head.contains("transfer-encoding: chunked") {
        joined(rest)
    } else {
        (rest.to_owned(), 0)
    };
    Response {
        status,
        head,
        body,
        chunks,
    }
}

/// Whether the body has come to the end that its head promises; servers may keep connections open.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let body = bytes.len()
        - bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
        - 4;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    match length.and_then(|length| length.trim().parse::<usize>().ok()) {
        Some(length) => body >= length,
        None => head.contains("transfer-encoding: chunked") && bytes.ends_with(b"\r\n0\r\n\r\n"),
    }
}

/// A chunked body without its framing.
fn joined(mut rest: &str) -> (String, usize) {
    let (mut body, mut chunks) = (String::new(), 0);
    loop {
        let (size, more) = rest.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, chunks);
        }
        body.push_str(&more[..size]);
        rest = &more[size + 2..];
        chunks += 1;
    }
}
