//! Replies: finish reasons and usage, and the mapping of a domain reply to a response for a client.

mod ending;
mod items;
mod outward;
mod repeated;
mod server_calls;

pub(crate) use ending::{
    Seen, error_to_wire, finish_reason, status, usage_from_wire, usage_to_wire,
};
pub(crate) use items::{Made, is_readable, item_id, without_upstream};
pub use outward::to_wire;
pub(crate) use outward::{empty, in_words};
pub(crate) use repeated::response_id;
pub(crate) use server_calls::ServerCall;
