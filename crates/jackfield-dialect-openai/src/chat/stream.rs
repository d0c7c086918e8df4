//! Streams: maps a provider's chunks to deltas, and deltas to chunks for a client.

mod annotation_buffer;
mod arguments;
mod calls;
mod chunks;
mod content_assembler;
mod decoder;
mod encoder;
mod inline_thinking;
mod json_fields;
mod pending_block;
mod plain_chunk;
mod plain_reply;
mod repeated_prefill;

pub(crate) use content_assembler::annotation;
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
pub use jackfield_dialect_kit::encode::SseEvent;
