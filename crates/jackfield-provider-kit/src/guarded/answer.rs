//! A response whose head has arrived, and whose body is read as far as needed.

use std::fmt;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};

use super::fault::{FetchError, Peer};

/// A response. Dropping it closes the connection.
pub struct GuardedResponse {
    peer: Peer,
    response: reqwest::Response,
}

/// A body, as far as it was read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GuardedBody {
    /// The bytes.
    pub bytes: Bytes,
    /// Whether these are all bytes of the body.
    pub whole: bool,
}

impl GuardedResponse {
    pub(super) const fn new(response: reqwest::Response, peer: Peer) -> Self {
        Self { peer, response }
    }

    /// The responding host with an optional port; after redirects, the last one.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.peer.host
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
        let media_type = value.split(';').next().unwrap_or_default().trim();
        (!media_type.is_empty()).then(|| media_type.to_ascii_lowercase())
    }

    /// Reads the first `limit` bytes of the body. The rest is not read.
    ///
    /// # Errors
    ///
    /// [`FetchError`] if the body breaks off before that.
    pub async fn read(mut self, limit: usize) -> Result<GuardedBody, FetchError> {
        let mut bytes = BytesMut::new();
        loop {
            match self.response.chunk().await {
                Ok(Some(piece)) => {
                    let room = limit - bytes.len();
                    if piece.len() > room {
                        bytes.extend_from_slice(&piece.slice(..room));
                        let bytes = bytes.freeze();
                        return Ok(GuardedBody {
                            bytes,
                            whole: false,
                        });
                    }
                    bytes.extend_from_slice(&piece);
                }
                Ok(None) => {
                    let bytes = bytes.freeze();
                    return Ok(GuardedBody { bytes, whole: true });
                }
                Err(error) => return Err(self.peer.interrupted(error)),
            }
        }
    }
}

impl fmt::Debug for GuardedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedResponse")
            .field("host", &self.host())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
