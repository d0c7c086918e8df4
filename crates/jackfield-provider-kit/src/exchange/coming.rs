//! What a streamed reply comes in: server-sent events, or lines.

use std::collections::VecDeque;

use jackfield_ports::chat_model::ModelError;

use super::halves::Halves;
use crate::lines::Lines;
use crate::sse::{Event, Events};

/// The events of a reply, however they are parted, with whole characters in them.
pub(super) struct Coming {
    /// What the body failed with, once all events before that are told.
    failed: Option<ModelError>,
    halves: Halves,
    parted: Parted,
    /// Events that are whole.
    ready: VecDeque<Event>,
}

enum Parted {
    Events(Events),
    Lines(Lines),
}

impl Coming {
    pub(super) fn events(events: Events) -> Self {
        Self::of(Parted::Events(events))
    }

    pub(super) fn lines(lines: Lines) -> Self {
        Self::of(Parted::Lines(lines))
    }

    fn of(parted: Parted) -> Self {
        Self {
            failed: None,
            halves: Halves::default(),
            parted,
            ready: VecDeque::new(),
        }
    }

    /// The next event; none at the end of the body.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, ModelError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let next = match &mut self.parted {
                Parted::Events(events) => events.next().await,
                Parted::Lines(lines) => lines.next().await,
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
