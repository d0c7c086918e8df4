//! Streams: maps a server's events to deltas, and deltas to events for a client.

mod block_writer;
mod decoder;
mod encoder;
mod event_writer;
mod item_reader;
mod item_slots;
mod message;
mod pieces;
mod reasoning;
mod thinking;

pub use decoder::Decoder;
pub use encoder::{Encoder, IncompleteStatus};
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
pub use jackfield_dialect_kit::encode::SseEvent;
