//! Replies: finish reasons and usage, and the mapping of a domain reply to a response for a client.

mod ending;
mod items;
mod outgoing;
mod repeated;
mod server_calls;

pub(crate) use ending::{ContentFlags, error_to_wire, finish_reason, status, usage_to_wire};
pub(crate) use items::{ItemBuilder, is_readable, item_id, without_upstream};
pub use outgoing::to_wire;
pub(crate) use outgoing::{content_flags, empty_response, text_of_media};
pub(crate) use repeated::response_id;
pub(crate) use server_calls::ServerCall;
