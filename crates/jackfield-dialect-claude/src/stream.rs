//! Streams: maps a server's events to deltas, and deltas to events for a client.

mod block;
mod decoder;
mod encoder;

pub use decoder::Decoder;
pub use encoder::{Encoder, ping};
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
pub use jackfield_dialect_kit::encode::SseEvent;
