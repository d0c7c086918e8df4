//! Streamed replies: the events of a server as pieces, and pieces as events for a client.

mod block;
mod decoder;
mod encoder;

pub use decoder::{DecodeError, Decoder};
pub use encoder::{Encoder, SseEvent, ping};
