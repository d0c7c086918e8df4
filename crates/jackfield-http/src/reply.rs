//! A turn as the response to its client: streamed, or whole.

mod stream;
mod turn_reply;
pub(crate) mod whole;

pub(crate) use self::stream::{answer as stream, replay};
pub(crate) use self::turn_reply::{HeldUntilSent, TurnReply};
