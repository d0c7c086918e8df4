//! The events of a streamed reply: server-sent events, or lines.

use std::collections::VecDeque;

use jackfield_ports::chat_model::ModelError;

use super::surrogates::SurrogateJoiner;
use crate::lines::JsonLines;
use crate::sse::{RawEvent, RawEvents};

/// The events of a reply, from either form of stream, with complete characters.
pub(super) struct ReplyEvents {
    /// The error of the body, which is returned after all earlier events.
    failed: Option<ModelError>,
    halves: SurrogateJoiner,
    parted: EventSource,
    /// Complete events.
    ready: VecDeque<RawEvent>,
}

enum EventSource {
    Events(RawEvents),
    Lines(JsonLines),
}

impl ReplyEvents {
    pub(super) fn events(events: RawEvents) -> Self {
        Self::of(EventSource::Events(events))
    }

    pub(super) fn lines(lines: JsonLines) -> Self {
        Self::of(EventSource::Lines(lines))
    }

    fn of(parted: EventSource) -> Self {
        Self {
            failed: None,
            halves: SurrogateJoiner::default(),
            parted,
            ready: VecDeque::new(),
        }
    }

    /// The next event; `None` at the end of the body.
    pub(super) async fn next(&mut self) -> Result<Option<RawEvent>, ModelError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let next = match &mut self.parted {
                EventSource::Events(events) => events.next().await,
                EventSource::Lines(lines) => lines.next().await,
            };
            match next {
                Ok(Some(event)) => self.ready.extend(self.halves.push(event)),
                Ok(None) => return Ok(self.halves.finish()),
                Err(error) => {
                    self.ready.extend(self.halves.finish());
                    self.failed = Some(error);
                }
            }
        }
    }
}
