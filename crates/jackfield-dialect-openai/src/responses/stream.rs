//! Streams: maps a server's events to deltas, and deltas to events for a client.

mod block_writer;
mod decoder;
mod encoder;
mod item;
mod message;
mod out;
mod pieces;
mod reasoning;
mod slot;
mod thought;

pub use decoder::Decoder;
pub use encoder::{Encoder, Standing};
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
pub use jackfield_dialect_kit::encode::SseEvent;
