//! What a streamed reply comes in: server-sent events, or lines.

use jackfield_ports::chat_model::ModelError;

use crate::lines::Lines;
use crate::sse::{Event, Events};

/// The events of a reply, however they are parted.
pub(super) enum Coming {
    Events(Events),
    Lines(Lines),
}

impl Coming {
    /// The next event; none at the end of the body.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, ModelError> {
        match self {
            Self::Events(events) => events.next().await,
            Self::Lines(lines) => lines.next().await,
        }
    }
}
