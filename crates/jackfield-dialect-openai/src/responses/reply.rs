//! Replies: why they end and what they use, and a domain reply as a response for a client.

mod ending;

pub(crate) use ending::{Seen, finish_reason, usage_from_wire};
