//! Reads lines from a body in chunks of any size: for vendors that stream one JSON document per line.

use std::fmt;
use std::pin::Pin;

use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_ports::chat_model::ModelError;
use serde::de::IgnoredAny;

use crate::sse::RawEvent;

/// The longest line: 16 MiB.
pub const MAX_LINE: usize = 16 << 20;

/// The lines of a body, as events without a name.
///
/// The lines do not depend on the chunks. A line ends with a line feed, optionally preceded by a carriage return.
/// Blank lines, which keep connections alive, are not events. The last line needs no line feed: it is returned if
/// it is a whole JSON document, so a truncated one never is. Of a body that breaks off, only an object or an array
/// is known to be whole.
pub struct JsonLines {
    body: Pin<Box<dyn Stream<Item = Result<Bytes, ModelError>> + Send>>,
    /// The beginning of an incomplete line.
    buffer: BytesMut,
    /// The error of the body, which is returned after the last line.
    failed: Option<ModelError>,
    is_done: bool,
    /// How many held bytes are known to contain no line feed.
    searched: usize,
}

impl JsonLines {
    /// The lines of these bytes.
    pub fn new(bytes: impl Stream<Item = Result<Bytes, ModelError>> + Send + 'static) -> Self {
        Self {
            body: Box::pin(bytes),
            buffer: BytesMut::new(),
            failed: None,
            is_done: false,
            searched: 0,
        }
    }

    /// The next line; `None` at the end of the body.
    ///
    /// # Errors
    ///
    /// The error of the body, or a `ProtocolViolation` if it is not a stream of lines: invalid UTF-8, or more than
    /// [`MAX_LINE`] bytes without a line feed. No line follows an error.
    pub async fn next(&mut self) -> Result<Option<RawEvent>, ModelError> {
        let next = self.next_event().await;
        if next.is_err() {
            self.buffer.clear();
            self.failed = None;
            self.is_done = true;
        }
        next
    }

    async fn next_event(&mut self) -> Result<Option<RawEvent>, ModelError> {
        loop {
            while let Some(line) = self.take_line() {
                let data = text(&line)?;
                if !data.is_empty() {
                    return Ok(Some(RawEvent { data, name: None }));
                }
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.is_done {
                return Ok(None);
            }
            if self.buffer.len() > MAX_LINE {
                return Err(violation("the stream has a line of more than 16 MiB").into());
            }
            match self.body.next().await {
                Some(Ok(piece)) => {
                    self.buffer.extend_from_slice(&piece);
                    continue;
                }
                Some(Err(error)) => self.failed = Some(error),
                None => {}
            }
            self.is_done = true;
            let rest = self.buffer.split();
            let is_closed = matches!(rest.trim_ascii_start().first(), Some(b'{' | b'['));
            if (is_closed || self.failed.is_none())
                && serde_json::from_slice::<IgnoredAny>(&rest).is_ok()
            {
                let data = text(&rest)?;
                return Ok(Some(RawEvent { data, name: None }));
            }
        }
    }

    /// The next complete line.
    fn take_line(&mut self) -> Option<BytesMut> {
        let mut unseen = self.buffer.iter().skip(self.searched);
        let Some(place) = unseen.position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.searched + place);
        self.buffer.advance(1);
        self.searched = 0;
        Some(line)
    }
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").finish_non_exhaustive()
    }
}

/// The text of a line, without surrounding white space.
fn text(line: &[u8]) -> Result<String, ModelError> {
    match std::str::from_utf8(line) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(cause) => {
            let failure = violation("the stream is not valid UTF-8");
            Err(ModelError::with_source(failure, cause))
        }
    }
}

fn violation(message: &str) -> ModelFailure {
    ModelFailure::new(
        ModelFailureKind::ProtocolViolation,
        Phase::BeforeFirstDelta,
        message,
    )
}
