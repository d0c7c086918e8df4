//! Reads events from a binary stream in chunks of any size: for vendors whose streams are neither text nor lines.

use std::fmt;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_ports::chat_model::ModelError;

use crate::sse::RawEvent;

/// The longest frame: 16 MiB.
pub const MAX_FRAME: usize = 16 << 20;

/// Cuts the frames of one stream into events.
pub trait FrameDecoder: Send {
    /// Takes the next event out of the beginning of a buffer; `None` if the buffer has no whole frame.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes, without their contents. The stream ends with it.
    fn next_event(&mut self, buffer: &mut BytesMut) -> Result<Option<RawEvent>, String>;
}

/// The events of a body of frames.
///
/// The events do not depend on the chunks. A frame that is not whole at the end of the body is not an event.
pub struct Frames {
    body: Pin<Box<dyn Stream<Item = Result<Bytes, ModelError>> + Send>>,
    /// The beginning of an incomplete frame.
    buffer: BytesMut,
    decoder: Box<dyn FrameDecoder>,
    is_done: bool,
}

impl Frames {
    /// The events of these bytes.
    pub fn new(
        bytes: impl Stream<Item = Result<Bytes, ModelError>> + Send + 'static,
        decoder: Box<dyn FrameDecoder>,
    ) -> Self {
        Self {
            body: Box::pin(bytes),
            buffer: BytesMut::new(),
            decoder,
            is_done: false,
        }
    }

    /// The next event; `None` at the end of the body.
    ///
    /// # Errors
    ///
    /// The error of the body, or a `ProtocolViolation` if it is not a stream of frames: damaged bytes, or a frame of
    /// more than [`MAX_FRAME`] bytes. No event follows an error.
    pub async fn next(&mut self) -> Result<Option<RawEvent>, ModelError> {
        let next = self.next_event().await;
        if next.is_err() {
            self.buffer.clear();
            self.is_done = true;
        }
        next
    }

    async fn next_event(&mut self) -> Result<Option<RawEvent>, ModelError> {
        loop {
            let event = self.decoder.next_event(&mut self.buffer);
            if let Some(event) = event.map_err(|why| violation(&why))? {
                return Ok(Some(event));
            }
            if self.is_done {
                return Ok(None);
            }
            if self.buffer.len() > MAX_FRAME {
                return Err(violation("a frame has more than 16 MiB").into());
            }
            match self.body.next().await {
                Some(piece) => self.buffer.extend_from_slice(&piece?),
                None => self.is_done = true,
            }
        }
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").finish_non_exhaustive()
    }
}

fn violation(why: &str) -> ModelFailure {
    let kind = ModelFailureKind::ProtocolViolation;
    let message = format!("the stream cannot be read: {why}");
    ModelFailure::new(kind, Phase::BeforeFirstDelta, message)
}
