//! Messages of `application/vnd.amazon.eventstream`, written by hand from its specification (Smithy, "Amazon Event
//! Stream", 2026-11).

/// An event of this type with this payload.
#[must_use]
pub fn event(kind: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":event-type", kind),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    message(&headers, payload.as_bytes())
}

/// An exception of this type with this payload.
#[must_use]
pub fn exception(kind: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":exception-type", kind),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    message(&headers, payload.as_bytes())
}

/// A message with these headers, which are texts, and this payload.
///
/// The lengths of message and headers, a checksum of both, the headers, the payload, and a checksum of all of it.
#[must_use]
pub fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        block.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        block.extend_from_slice(name.as_bytes());
        block.push(TEXT);
        block.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        block.extend_from_slice(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let mut message = Vec::new();
    message.extend_from_slice(&length(AROUND + block.len() + payload.len()));
    message.extend_from_slice(&length(block.len()));
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(&block);
    message.extend_from_slice(payload);
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}

/// How many bytes stand around headers and payload: two lengths and two checksums.
const AROUND: usize = 16;
/// The type of a header that is a text.
const TEXT: u8 = 7;
