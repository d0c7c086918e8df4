//! Lines, pulled one by one out of a body that may be cut anywhere: for vendors that stream a JSON document a line.

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
/// However the bytes are cut, the lines are the same. A line ends in a line feed, before which a carriage
/// return may stand; blank lines, by which connections are kept alive, are no events. The last line need not
/// end: it is told if it is a whole JSON document, so one that was cut off is never told.
pub struct JsonLines {
    body: Pin<Box<dyn Stream<Item = Result<Bytes, ModelError>> + Send>>,
    /// What came of a line that has not ended.
    held: BytesMut,
    over: bool,
    /// How much of what is held is known to have no line feed.
    searched: usize,
}

impl JsonLines {
    /// The lines of these bytes.
    pub fn new(bytes: impl Stream<Item = Result<Bytes, ModelError>> + Send + 'static) -> Self {
        Self {
            body: Box::pin(bytes),
            held: BytesMut::new(),
            over: false,
            searched: 0,
        }
    }

    /// The next line; none at the end of the body.
    ///
    /// # Errors
    ///
    /// What the body failed with, or a `ProtocolViolation` where it is not a stream of lines: invalid UTF-8,
    /// or more than [`MAX_LINE`] without a line feed. No line comes after an error.
    pub async fn next(&mut self) -> Result<Option<RawEvent>, ModelError> {
        let next = self.pull().await;
        if next.is_err() {
            self.held.clear();
            self.over = true;
        }
        next
    }

    async fn pull(&mut self) -> Result<Option<RawEvent>, ModelError> {
        loop {
            while let Some(line) = self.line() {
                let data = text(&line)?;
                if !data.is_empty() {
                    return Ok(Some(RawEvent { data, name: None }));
                }
            }
            if self.over {
                return Ok(None);
            }
            if self.held.len() > MAX_LINE {
                return Err(violation("the stream has a line of more than 16 MiB").into());
            }
            match self.body.next().await {
                Some(piece) => self.held.extend_from_slice(&piece?),
                None => {
                    self.over = true;
                    let rest = self.held.split();
                    if serde_json::from_slice::<IgnoredAny>(&rest).is_ok() {
                        let data = text(&rest)?;
                        return Ok(Some(RawEvent { data, name: None }));
                    }
                }
            }
        }
    }

    /// The next line that has ended.
    fn line(&mut self) -> Option<BytesMut> {
        let mut unseen = self.held.iter().skip(self.searched);
        let Some(place) = unseen.position(|byte| *byte == b'\n') else {
            self.searched = self.held.len();
            return None;
        };
        let line = self.held.split_to(self.searched + place);
        self.held.advance(1);
        self.searched = 0;
        Some(line)
    }
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").finish_non_exhaustive()
    }
}

/// The text of a line, without the white space around it.
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
