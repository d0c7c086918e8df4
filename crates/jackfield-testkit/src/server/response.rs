//! Scripts of the server's responses, byte by byte.

use bytes::{Bytes, BytesMut};

use super::Gate;

/// A scripted response: a head, and a body as a list of steps.
#[derive(Clone, Debug)]
pub struct Response {
    /// How the end of the body is marked.
    pub framing: Framing,
    /// The headers without the one for the framing.
    pub headers: Vec<(String, String)>,
    /// The status code.
    pub status: u16,
    /// The steps after the head, in order.
    pub steps: Vec<ResponseStep>,
}

/// How the end of the body is marked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Framing {
    /// Chunked: every [`ResponseStep::Send`] is one chunk, which a client sees separately.
    Chunked,
    /// By closing the connection.
    CloseDelimited,
    /// By its length: the sum of all bytes in the steps, including those that are never sent.
    ContentLength,
    /// No framing: only the steps are sent, which include the head.
    Raw,
}

/// One step of a response.
#[derive(Clone, Debug)]
pub enum ResponseStep {
    /// The connection is closed here, regardless of the framing. The bytes sent before still arrive.
    CutOff,
    /// Nothing more is sent until the gate is opened.
    Pause(Gate),
    /// The connection is reset here. The bytes sent before may get lost, as in reality.
    Reset,
    /// These bytes are sent.
    Send(Bytes),
    /// Nothing more is ever sent; the connection stays open.
    Stall,
}

impl Response {
    /// A response of this status without a body, delimited by its length.
    #[must_use]
    pub const fn new(status: u16) -> Self {
        Self {
            framing: Framing::ContentLength,
            headers: Vec::new(),
            status,
            steps: Vec::new(),
        }
    }

    /// A chunked stream of server-sent events: these bytes, and those of further steps.
    #[must_use]
    pub fn event_stream(body: impl Into<Bytes>) -> Self {
        Self::new(200)
            .header("content-type", "text/event-stream; charset=utf-8")
            .header("cache-control", "no-cache")
            .framed(Framing::Chunked)
            .send(body)
    }

    /// An HTML page.
    #[must_use]
    pub fn html(status: u16, body: impl Into<Bytes>) -> Self {
        Self::new(status)
            .header("content-type", "text/html; charset=utf-8")
            .send(body)
    }

    /// A JSON document.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self::new(status)
            .header("content-type", "application/json")
            .send(body)
    }

    /// A response of only its steps: not even a status line.
    #[must_use]
    pub const fn raw() -> Self {
        Self {
            framing: Framing::Raw,
            headers: Vec::new(),
            status: 0,
            steps: Vec::new(),
        }
    }

    /// Plain text.
    #[must_use]
    pub fn text(status: u16, body: impl Into<Bytes>) -> Self {
        Self::new(status)
            .header("content-type", "text/plain; charset=utf-8")
            .send(body)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Changes the framing.
    #[must_use]
    pub const fn framed(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Sends these bytes next.
    #[must_use]
    pub fn send(self, bytes: impl Into<Bytes>) -> Self {
        self.step(ResponseStep::Send(bytes.into()))
    }

    /// Waits at this gate next.
    #[must_use]
    pub fn pause(self, gate: &Gate) -> Self {
        self.step(ResponseStep::Pause(gate.clone()))
    }

    /// Closes the connection next.
    #[must_use]
    pub fn cut_off(self) -> Self {
        self.step(ResponseStep::CutOff)
    }

    /// Resets the connection next.
    #[must_use]
    pub fn reset(self) -> Self {
        self.step(ResponseStep::Reset)
    }

    /// Sends nothing more from here on.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(ResponseStep::Stall)
    }

    /// Splits everything that is sent into pieces of at most this many bytes; gates keep their places.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[must_use]
    pub fn split_sends(mut self, size: usize) -> Self {
        assert!(size > 0, "pieces have at least one byte");
        let steps = std::mem::take(&mut self.steps);
        for step in steps {
            match step {
                ResponseStep::Send(mut bytes) => {
                    while bytes.len() > size {
                        self.steps.push(ResponseStep::Send(bytes.split_to(size)));
                    }
                    self.steps.push(ResponseStep::Send(bytes));
                }
                ResponseStep::CutOff
                | ResponseStep::Pause(_)
                | ResponseStep::Reset
                | ResponseStep::Stall => self.steps.push(step),
            }
        }
        self
    }

    /// Sends only the first `length` bytes of the body, and then closes the connection.
    ///
    /// The head still announces the whole body.
    #[must_use]
    pub fn cut_at(mut self, length: usize) -> Self {
        let whole = self.body_length();
        let mut left = length;
        let steps = std::mem::take(&mut self.steps);
        for step in steps {
            match step {
                ResponseStep::Send(bytes) if bytes.len() >= left => {
                    self.steps.push(ResponseStep::Send(bytes.slice(..left)));
                    break;
                }
                ResponseStep::Send(bytes) => {
                    left -= bytes.len();
                    self.steps.push(ResponseStep::Send(bytes));
                }
                ResponseStep::CutOff
                | ResponseStep::Pause(_)
                | ResponseStep::Reset
                | ResponseStep::Stall => self.steps.push(step),
            }
        }
        if self.framing == Framing::ContentLength {
            self.framing = Framing::Raw;
            let head = self.head_with(Some(whole));
            self.steps.insert(0, ResponseStep::Send(head));
        }
        self.cut_off()
    }

    /// The framing, the head and the bytes of each step, for a person. Very many pieces are shown as one.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = format!("{:?}, status {}", self.framing, self.status);
        for (name, value) in &self.headers {
            text.push_str(&format!(", {name}: {value}"));
        }
        let is_piece = |step: &ResponseStep| step.bytes().is_some();
        let merged = self.steps.iter().filter(|step| is_piece(step)).count() > MAX_PIECES;
        let runs = self
            .steps
            .chunk_by(|one, next| merged && is_piece(one) && is_piece(next));
        let mut from = 0;
        for run in runs {
            let bytes: Vec<u8> = run
                .iter()
                .filter_map(ResponseStep::bytes)
                .flatten()
                .copied()
                .collect();
            let to = from + bytes.len();
            let many = match run.len() {
                1 => String::new(),
                many => format!(" in {many} pieces"),
            };
            let what = match run.first() {
                Some(ResponseStep::CutOff) => "the connection is closed".to_owned(),
                Some(ResponseStep::Pause(_)) => "a pause".to_owned(),
                Some(ResponseStep::Reset) => "the connection is reset".to_owned(),
                Some(ResponseStep::Stall) => "nothing more, on an open connection".to_owned(),
                Some(ResponseStep::Send(_)) | None => {
                    format!("bytes {from} to {to}{many}: \"{}\"", visible(&bytes))
                }
            };
            text.push_str("\n  ");
            text.push_str(&what);
            from = to;
        }
        text
    }

    fn step(mut self, step: ResponseStep) -> Self {
        self.steps.push(step);
        self
    }

    fn body_length(&self) -> usize {
        let sends = self.steps.iter().filter_map(ResponseStep::bytes);
        sends.map(Bytes::len).sum()
    }

    /// The status line and the headers on the wire; empty if raw.
    pub(super) fn head(&self) -> Bytes {
        match self.framing {
            Framing::Chunked | Framing::CloseDelimited => self.head_with(None),
            Framing::ContentLength => self.head_with(Some(self.body_length())),
            Framing::Raw => Bytes::new(),
        }
    }

    fn head_with(&self, length: Option<usize>) -> Bytes {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match (length, self.framing) {
            (Some(length), _) => head.push_str(&format!("content-length: {length}\r\n")),
            (None, Framing::Chunked) => head.push_str("transfer-encoding: chunked\r\n"),
            (None, Framing::CloseDelimited | Framing::ContentLength | Framing::Raw) => {
                head.push_str("connection: close\r\n");
            }
        }
        head.push_str("\r\n");
        head.into()
    }

    /// A piece of the body on the wire.
    pub(super) fn frame(&self, bytes: &Bytes) -> Bytes {
        match self.framing {
            // An empty chunk would end the body.
            Framing::Chunked if bytes.is_empty() => Bytes::new(),
            Framing::Chunked => {
                let mut chunk = BytesMut::from(format!("{:x}\r\n", bytes.len()).as_bytes());
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                chunk.freeze()
            }
            Framing::CloseDelimited | Framing::ContentLength | Framing::Raw => bytes.clone(),
        }
    }

    /// The end of the body on the wire.
    pub(super) const fn ending(&self) -> &'static [u8] {
        match self.framing {
            Framing::Chunked => b"0\r\n\r\n",
            Framing::CloseDelimited | Framing::ContentLength | Framing::Raw => b"",
        }
    }

    /// Whether the connection can take another request after this response.
    pub(super) const fn keeps_open(&self) -> bool {
        match self.framing {
            Framing::Chunked | Framing::ContentLength => true,
            Framing::CloseDelimited | Framing::Raw => false,
        }
    }
}

impl ResponseStep {
    /// The bytes that it sends.
    const fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Send(bytes) => Some(bytes),
            Self::CutOff | Self::Pause(_) | Self::Reset | Self::Stall => None,
        }
    }
}

/// The most pieces that are shown one by one.
const MAX_PIECES: usize = 20;

/// Bytes as a text on one line: whole characters as they are, all others escaped.
fn visible(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.extend(chunk.valid().escape_debug());
        text.push_str(&chunk.invalid().escape_ascii().to_string());
    }
    text
}

/// The reason phrase of a status, which clients ignore.
fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status)
        .ok()
        .and_then(|known| known.canonical_reason())
        .unwrap_or("Unnamed")
}
