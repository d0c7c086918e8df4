//! The events of a streamed reply: server-sent events, lines, or frames.

use std::collections::VecDeque;

use jackfield_ports::chat_model::ModelError;

use super::surrogates::SurrogateJoiner;
use crate::frames::Frames;
use crate::lines::JsonLines;
use crate::sse::{RawEvent, RawEvents};

/// The events of a reply, from any form of stream, with complete characters.
pub(super) struct ReplyEvents {
    /// The error of the body, which is returned after all earlier events.
    failed: Option<ModelError>,
    joiner: SurrogateJoiner,
    source: EventSource,
    /// Complete events.
    ready: VecDeque<RawEvent>,
}

enum EventSource {
    Events(RawEvents),
    Frames(Frames),
    Lines(JsonLines),
}

impl ReplyEvents {
    pub(super) fn events(events: RawEvents) -> Self {
        Self::new(EventSource::Events(events))
    }

    pub(super) fn frames(frames: Frames) -> Self {
        Self::new(EventSource::Frames(frames))
    }

    pub(super) fn lines(lines: JsonLines) -> Self {
        Self::new(EventSource::Lines(lines))
    }

    fn new(source: EventSource) -> Self {
        Self {
            failed: None,
            joiner: SurrogateJoiner::default(),
            source,
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
            let next = match &mut self.source {
                EventSource::Events(events) => events.next().await,
                EventSource::Frames(frames) => frames.next().await,
                EventSource::Lines(lines) => lines.next().await,
            };
            match next {
                Ok(Some(event)) => self.ready.extend(self.joiner.push(event)),
                Ok(None) => return Ok(self.joiner.finish()),
                Err(error) => {
                    self.ready.extend(self.joiner.finish());
                    self.failed = Some(error);
                }
            }
        }
    }
}
