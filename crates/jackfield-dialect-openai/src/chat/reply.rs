//! Replies: finish reasons and usage, and the mapping of a domain reply to a message for a client.

pub(crate) mod ending;
mod outgoing;
pub(crate) mod server_tools;
pub(crate) mod state;

pub(crate) use outgoing::is_audio;
pub use outgoing::to_wire;
