//! Replies: why they end and what they used, and a domain reply as a message for a client.

pub(crate) mod ending;
pub(crate) mod state;
