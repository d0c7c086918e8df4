//! Replies: why they end and what they used, and a domain reply as a message for a client.

pub(crate) mod ending;
mod outward;
pub(crate) mod server_tools;
pub(crate) mod state;

pub(crate) use outward::is_audio;
pub use outward::to_wire;
