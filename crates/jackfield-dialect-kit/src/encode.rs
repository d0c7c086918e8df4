//! Encoders: a reply as the events of a stream.

use std::fmt;

/// One server-sent event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SseEvent {
    /// Its data, on one line.
    pub data: String,
    /// Its name, in dialects whose events have one.
    pub event: Option<&'static str>,
}

impl SseEvent {
    /// Appends the event in its wire form, with the empty line that ends it.
    pub fn write(&self, out: &mut String) {
        if let Some(event) = self.event {
            out.extend(["event: ", event, "\n"]);
        }
        out.extend(["data: ", &self.data, "\n\n"]);
    }
}

impl fmt::Display for SseEvent {
    /// The output of [`write`](Self::write).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(&text)
    }
}
