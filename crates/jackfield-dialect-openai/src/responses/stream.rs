//! Streamed replies: the events of a server as pieces, and pieces as events for a client.

mod decoder;
mod item;
mod message;
mod reasoning;
mod slot;

pub use decoder::Decoder;
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
pub use jackfield_dialect_kit::encode::SseEvent;
