//! A response whose head is there, and whose body is still coming.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode};
use jackfield_ports::chat_model::ModelError;

use super::fault::Peer;
use super::pieces::Pieces;
use crate::lines::Lines;
use crate::sse::Events;

/// A response. Dropping it closes the connection, unless it was read to its end.
pub struct Incoming {
    /// What was read of the body to see what it is.
    ahead: Vec<Bytes>,
    peer: Peer,
    response: reqwest::Response,
}

impl Incoming {
    pub(super) const fn new(response: reqwest::Response, peer: Peer) -> Self {
        Self {
            ahead: Vec::new(),
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

    /// The first bytes of the body behind blanks, at least so many unless it has less; nothing is taken out of it.
    ///
    /// # Errors
    ///
    /// [`ModelError`] if it breaks off before, or the server falls silent.
    pub(crate) async fn begins(&mut self, least: usize) -> Result<Vec<u8>, ModelError> {
        let mut begins = Vec::new();
        loop {
            let next = tokio::time::timeout(self.peer.read_idle(), self.response.chunk());
            let piece = match next.await {
                Ok(Ok(piece)) => piece,
                Ok(Err(error)) => return Err(self.peer.broken_off(error)),
                Err(_) => return Err(self.peer.silent().into()),
            };
            let Some(piece) = piece else {
                return Ok(begins);
            };
            let blanks = if begins.is_empty() {
                piece
                    .iter()
                    .take_while(|byte| byte.is_ascii_whitespace())
                    .count()
            } else {
                0
            };
            begins.extend(piece.iter().skip(blanks).take(least));
            self.ahead.push(piece);
            if begins.len() >= least {
                return Ok(begins);
            }
        }
    }

    /// The body, as server-sent events.
    #[must_use]
    pub fn into_events(self) -> Events {
        Events::new(self.into_pieces())
    }

    /// The body, as lines.
    #[must_use]
    pub fn into_lines(self) -> Lines {
        Lines::new(self.into_pieces())
    }

    fn into_pieces(self) -> Pieces {
        Pieces::new(self.ahead, self.response, self.peer)
    }

    /// The whole body.
    ///
    /// # Errors
    ///
    /// [`ModelError`] if it breaks off, or is longer than [`MAX_REPLY`].
    pub async fn into_body(self) -> Result<Bytes, ModelError> {
        let peer = self.peer.clone();
        let (mut pieces, mut body) = (self.into_pieces(), BytesMut::new());
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            if body.len() + piece.len() > MAX_REPLY {
                return Err(peer.too_long(MAX_REPLY).into());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    /// The body of an error: what comes of it within 10 s, at most 64 KiB.
    ///
    /// The status is the failure; a body that breaks off or does not end only tells less about it.
    pub async fn into_error_body(self) -> Bytes {
        let (mut pieces, mut body) = (self.into_pieces(), BytesMut::new());
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
        body.freeze()
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// The longest reply that is read whole: 64 MiB.
pub const MAX_REPLY: usize = 64 << 20;
/// The longest body of an error.
const MAX_ERROR: usize = 64 << 10;
/// The longest time for the body of an error.
const ERROR_TIME: Duration = Duration::from_secs(10);
