//! Streams: a provider's chunks as pieces of a reply, and pieces as chunks for a client.

mod arguments;
mod calls;
mod decoder;
mod prose;
mod read;

pub use decoder::Decoder;
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
