//! The frames of a stream: messages of `application/vnd.amazon.eventstream`, with checksums.

use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use aws_smithy_types::event_stream::Message;
use bytes::BytesMut;
use jackfield_provider_kit::frames::FrameDecoder;
use jackfield_provider_kit::sse::RawEvent;
use serde_json::json;

/// The media type of a stream.
pub const MEDIA_TYPE: &str = "application/vnd.amazon.eventstream";

/// What begins the name of an event that is an exception, before the exception's own name.
pub const EXCEPTION: &str = "exception/";

/// Reads messages as events: the name is the type of the event, and the data its payload.
#[derive(Debug)]
pub struct EventFrames(MessageFrameDecoder);

impl EventFrames {
    /// A decoder for a new stream.
    #[must_use]
    pub fn new() -> Self {
        Self(MessageFrameDecoder::new())
    }
}

impl Default for EventFrames {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameDecoder for EventFrames {
    fn next_event(&mut self, buffer: &mut BytesMut) -> Result<Option<RawEvent>, String> {
        match self.0.decode_frame(&mut *buffer) {
            Ok(DecodedFrame::Complete(message)) => event(&message).map(Some),
            Ok(DecodedFrame::Incomplete) => Ok(None),
            Err(error) => Err(format!("a damaged frame: {error}")),
        }
    }
}

fn event(message: &Message) -> Result<RawEvent, String> {
    let header = |name: &str| {
        let mut headers = message.headers().iter();
        let header = headers.find(|header| header.name().as_str() == name)?;
        let text = header.value().as_string().ok()?;
        Some(text.as_str().to_owned())
    };
    let payload = std::str::from_utf8(message.payload());
    let payload = payload.map_err(|_| "an event is not valid UTF-8".to_owned())?;
    let kind = header(":message-type").unwrap_or_default();
    let (name, data) = match kind.as_str() {
        "exception" => {
            let name = header(":exception-type").unwrap_or_default();
            (format!("{EXCEPTION}{name}"), payload.to_owned())
        }
        // An error that the API does not define.
        "error" => {
            let name = header(":error-code").unwrap_or_default();
            let words = header(":error-message").unwrap_or_default();
            let data = json!({ "message": words }).to_string();
            (format!("{EXCEPTION}{name}"), data)
        }
        _ => (
            header(":event-type").unwrap_or_default(),
            payload.to_owned(),
        ),
    };
    Ok(RawEvent {
        data,
        name: Some(name),
    })
}
