//! Reads server-sent events from a body in chunks of any size.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_ports::chat_model::ModelError;
use sse_stream::{Error, SseByteStream};

/// The longest event: 16 MiB.
pub const MAX_EVENT: usize = 16 << 20;

/// One event. Blocks without data are not events.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RawEvent {
    /// The data; several lines are joined with line feeds.
    pub data: String,
    /// The name of the event, if it has one.
    pub name: Option<String>,
}

/// The events of a body.
///
/// The events do not depend on the chunks. Text after the last empty line is not an event, so a truncated event is
/// never returned.
pub struct RawEvents {
    events: SseByteStream<Pin<Box<dyn BodyChunks>>>,
    /// The number of bytes since the last event.
    event_bytes: Arc<AtomicUsize>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl RawEvents {
    /// The events of these bytes.
    pub fn new(bytes: impl Stream<Item = Result<Bytes, ModelError>> + Send + 'static) -> Self {
        let since = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&since);
        let counted = bytes.map(move |piece| {
            let piece = piece?;
            let before = count.fetch_add(piece.len(), Ordering::Relaxed);
            if before.saturating_add(piece.len()) > MAX_EVENT {
                return Err(violation("the stream has an event of more than 16 MiB").into());
            }
            Ok(piece)
        });
        Self {
            events: SseByteStream::new(Box::pin(counted)),
            event_bytes: since,
            last_id: None,
            retry: None,
        }
    }

    /// The last id that the stream has named so far, with or without data, unless it was empty (HTML Standard,
    /// section 9.2.6, read 2026-11-26).
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The pause before a new connection that the stream has last asked for.
    #[must_use]
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The next event; `None` at the end of the body.
    ///
    /// # Errors
    ///
    /// The error of the body, or a `ProtocolViolation` if it is not a stream of events: invalid UTF-8, or more than
    /// [`MAX_EVENT`] bytes without an event. No event follows an error.
    pub async fn next(&mut self) -> Result<Option<RawEvent>, ModelError> {
        while let Some(block) = self.events.next().await {
            let block = block.map_err(failed)?;
            self.event_bytes.store(0, Ordering::Relaxed);
            if let Some(id) = block.id {
                self.last_id = Some(id).filter(|id| !id.is_empty());
            }
            if let Some(millis) = block.retry {
                self.retry = Some(Duration::from_millis(millis));
            }
            if let Some(data) = block.data {
                let name = block.event.filter(|name| !name.is_empty());
                return Ok(Some(RawEvent { data, name }));
            }
        }
        Ok(None)
    }
}

impl fmt::Debug for RawEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawEvents").finish_non_exhaustive()
    }
}

/// A body as a stream of chunks.
trait BodyChunks: Stream<Item = Result<Bytes, ModelError>> + Send {}

impl<T: Stream<Item = Result<Bytes, ModelError>> + Send> BodyChunks for T {}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's errors may grow, and every one of them is the server's fault"
)]
fn failed(error: Error) -> ModelError {
    match error {
        Error::Body(cause) => match cause.downcast::<ModelError>() {
            Ok(failed) => *failed,
            Err(cause) => ModelError::with_source(violation("the stream cannot be read"), cause),
        },
        Error::Utf8Parse(cause) => {
            ModelError::with_source(violation("the stream is not valid UTF-8"), cause)
        }
        other => ModelError::with_source(violation("the stream cannot be read"), other),
    }
}

fn violation(message: &str) -> ModelFailure {
    ModelFailure::new(
        ModelFailureKind::ProtocolViolation,
        Phase::BeforeFirstDelta,
        message,
    )
}
