//! Streamed replies: the events of a server as pieces, and pieces as events for a client.

mod block;
mod decoder;
mod encoder;

pub use decoder::Decoder;
pub use encoder::{Encoder, ping};
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
pub use jackfield_dialect_kit::encode::SseEvent;
