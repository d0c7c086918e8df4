//! Replies: maps a domain reply to a whole one for a client, and has what streams and whole replies share.

mod ending;
mod outgoing;
pub(crate) mod state;

pub use ending::read_usage;
pub(crate) use ending::{Ending, ending, finish_reason, usage_to_wire};
pub use outgoing::to_wire;
pub(crate) use outgoing::{
    arguments, call_part, candidate_fields, fallback, media_part, plain, thought,
};
