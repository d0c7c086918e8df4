//! A response whose head has arrived, and whose body is still arriving.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode};
use jackfield_dialect_kit::encoding::Encoding;
use jackfield_ports::chat_model::ModelError;
use tokio::sync::Notify;

use super::fault::RequestPeer;
use super::pieces::TimedChunks;
use crate::frames::{FrameDecoder, Frames};
use crate::lines::JsonLines;
use crate::sse::RawEvents;

/// A response. Dropping it closes the connection, unless it was read to its end.
pub struct Incoming {
    /// Notified of each chunk that is read.
    arrived: Arc<Notify>,
    /// The chunks that were read ahead to detect the body's form.
    buffered: Vec<Bytes>,
    peer: RequestPeer,
    response: reqwest::Response,
}

impl Incoming {
    pub(super) fn new(response: reqwest::Response, peer: RequestPeer) -> Self {
        Self {
            arrived: Arc::default(),
            buffered: Vec::new(),
            peer,
            response,
        }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The first header of this name, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// The media type, in lower case and without parameters.
    #[must_use]
    pub fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        let media_type = value.split(';').next().unwrap_or_default();
        Some(media_type.trim().to_ascii_lowercase())
    }

    /// The first bytes of the body after white space, at least `least` unless it has fewer. They stay in the body.
    ///
    /// # Errors
    ///
    /// [`ModelError`] if the body breaks off before that, or the server falls silent.
    pub(crate) async fn peek_start(&mut self, least: usize) -> Result<Vec<u8>, ModelError> {
        let mut start = Vec::new();
        let mut index = 0;
        loop {
            if index == self.buffered.len() {
                let Some(piece) = self.next_chunk().await? else {
                    return Ok(start);
                };
                self.buffered.push(piece);
            }
            let piece = self.buffered.get(index).map_or(&[][..], |piece| piece);
            index += 1;
            let blanks = if start.is_empty() {
                piece
                    .iter()
                    .take_while(|byte| byte.is_ascii_whitespace())
                    .count()
            } else {
                0
            };
            start.extend(piece.iter().skip(blanks).take(least));
            if start.len() >= least {
                return Ok(start);
            }
        }
    }

    /// Decompresses the body. Requests ask for no content encoding, but proxies and some servers use one all the
    /// same; the body is read whole then, before its first event is available.
    ///
    /// # Errors
    ///
    /// [`ModelError`] if the encoding is unsupported, if the data is invalid for it, or as
    /// [`into_body`](Self::into_body).
    pub async fn decompress(mut self) -> Result<Self, ModelError> {
        let encoding_name = self.header("content-encoding").unwrap_or_default();
        let encoding_name = encoding_name.to_owned();
        let encoding = match Encoding::from_header(&encoding_name) {
            Ok(None) => return Ok(self),
            Ok(Some(encoding)) => encoding,
            Err(named) => return Err(self.peer.encoding_failure(&named, None).into()),
        };
        let mut body = BytesMut::new();
        while let Some(piece) = self.next_chunk().await? {
            if body.len() + piece.len() > MAX_REPLY {
                return Err(self.peer.too_long(MAX_REPLY).into());
            }
            body.extend_from_slice(&piece);
        }
        match encoding.decode(&body, MAX_REPLY) {
            Ok(decoded) if decoded.len() > MAX_REPLY => Err(self.peer.too_long(MAX_REPLY).into()),
            Ok(decoded) => {
                self.buffered.push(decoded.into());
                Ok(self)
            }
            Err(error) => Err(self
                .peer
                .encoding_failure(&encoding_name, Some(&error))
                .into()),
        }
    }

    /// The failure for a body of more than [`MAX_REPLY`].
    pub(crate) fn too_long(&self) -> ModelError {
        self.peer.too_long(MAX_REPLY).into()
    }

    /// The next chunk of the body; `None` at its end.
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let next = tokio::time::timeout(self.peer.read_idle(), self.response.chunk());
        match next.await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(self.peer.interrupted(error)),
            Err(_) => Err(self.peer.timed_out().into()),
        }
    }

    /// Notified of each chunk of the body that is read.
    pub(crate) fn arrivals(&self) -> Arc<Notify> {
        Arc::clone(&self.arrived)
    }

    /// The body, as server-sent events.
    #[must_use]
    pub fn into_events(self) -> RawEvents {
        RawEvents::new(self.into_chunks())
    }

    /// The body, as frames that this decoder reads.
    #[must_use]
    pub fn into_frames(self, decoder: Box<dyn FrameDecoder>) -> Frames {
        Frames::new(self.into_chunks(), decoder)
    }

    /// The body, as lines.
    #[must_use]
    pub fn into_lines(self) -> JsonLines {
        JsonLines::new(self.into_chunks())
    }

    /// The body as it arrives, in chunks.
    pub(crate) fn into_chunks(self) -> TimedChunks {
        TimedChunks::new(self.arrived, self.buffered, self.response, self.peer)
    }

    /// The whole body.
    ///
    /// # Errors
    ///
    /// [`ModelError`] if it breaks off, or is longer than [`MAX_REPLY`].
    pub async fn into_body(self) -> Result<Bytes, ModelError> {
        let peer = self.peer.clone();
        let (mut pieces, mut body) = (self.into_chunks(), BytesMut::new());
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            if body.len() + piece.len() > MAX_REPLY {
                return Err(peer.too_long(MAX_REPLY).into());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    /// The body of an error: the part that arrives within 10 s, at most 64 KiB, decompressed.
    ///
    /// The status is the failure; a body that breaks off, does not end or cannot be decompressed only provides
    /// fewer details.
    pub async fn into_error_body(self) -> Bytes {
        let encoding = Encoding::from_header(self.header("content-encoding").unwrap_or_default());
        let (mut pieces, mut body) = (self.into_chunks(), BytesMut::new());
        let read = async {
            while body.len() < MAX_ERROR {
                let Some(Ok(piece)) = pieces.next().await else {
                    break;
                };
                body.extend_from_slice(&piece);
            }
        };
        let _in_time = tokio::time::timeout(ERROR_TIME, read).await.is_ok();
        body.truncate(MAX_ERROR);
        match encoding {
            Ok(None) => body.freeze(),
            Ok(Some(encoding)) => {
                let mut decoded = encoding.decode(&body, MAX_ERROR).unwrap_or_default();
                decoded.truncate(MAX_ERROR);
                decoded.into()
            }
            Err(named) => format!("an answer with the content encoding `{named}`").into(),
        }
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// The longest body that is read whole: 64 MiB.
pub const MAX_REPLY: usize = 64 << 20;
/// The longest body of an error.
const MAX_ERROR: usize = 64 << 10;
/// The longest time for the body of an error.
const ERROR_TIME: Duration = Duration::from_secs(10);
