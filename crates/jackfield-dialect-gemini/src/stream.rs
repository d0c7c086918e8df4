//! Streams: maps a server's fragments to deltas, and deltas to fragments for a client.

mod decoder;
mod encoder;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
pub use jackfield_dialect_kit::encode::SseEvent;
