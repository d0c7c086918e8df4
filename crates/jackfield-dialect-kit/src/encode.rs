//! Encoders: a reply as the events of a stream.

use std::fmt;

/// One server-sent event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SseEvent {
    /// Its data: on one line.
    pub data: String,
    /// Its name, in dialects whose events have one.
    pub event: Option<&'static str>,
}

impl fmt::Display for SseEvent {
    /// The event as it stands on the wire, with the empty line that ends it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(event) = self.event {
            writeln!(f, "event: {event}")?;
        }
        write!(f, "data: {}\n\n", self.data)
    }
}
