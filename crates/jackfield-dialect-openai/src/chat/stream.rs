//! Streams: maps a provider's chunks to deltas, and deltas to chunks for a client.

mod arguments;
mod calls;
mod chunks;
mod decoder;
mod encoder;
mod inline;
mod plain;
mod prose;
mod read;
mod remarks;
mod waiting;
mod whole;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
pub use jackfield_dialect_kit::encode::SseEvent;
pub(crate) use prose::annotation;
