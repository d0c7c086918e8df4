//! The domain: the values and the tool loop of Jackfield. It is synchronous, deterministic and infallible, and
//! does no I/O.
//!
//! [`SendMessageUseCase`](send_message::SendMessageUseCase) begins a turn; [`ToolLoop`](tool_loop::ToolLoop)
//! makes all decisions about it, one input at a time. The domain reads no clock, environment, file or socket:
//! time is passed in as a value, and ids and jitter are hashes.

#![warn(missing_docs)]

pub mod accumulator;
pub mod approval;
pub mod audit;
pub mod block;
pub mod call_order;
pub mod caller;
pub mod client_view;
pub mod compaction;
mod conversation_key;
pub mod cursor;
pub mod delta;
pub mod digest;
pub mod directory;
pub mod estimate;
pub mod fact;
pub mod failure;
pub mod find_tools;
pub mod fork;
pub mod ids;
pub mod late;
pub mod limits;
pub mod listing;
pub mod locate;
pub mod media;
pub mod message;
mod money;
pub mod naming;
pub mod note;
pub mod opaque;
pub mod outcome;
pub mod own_tool;
pub mod policy;
pub mod price;
pub mod quota;
pub mod replay;
pub mod reply;
pub mod request;
pub mod restrictions;
pub mod round_break;
pub mod routing;
pub mod rules;
pub mod schema;
pub mod send_message;
pub mod server_tool;
pub mod session;
pub mod session_events;
pub mod settings;
pub mod setup;
pub mod setup_sharing;
pub mod spending;
pub mod spending_record;
pub mod system_prompt;
pub mod target;
/// What can stand in a text.
pub mod text {
    pub mod hidden;
}
pub mod text_event;
pub mod time;
pub mod timeline;
pub mod tool;
pub mod tool_input;
pub mod tool_loop;
pub mod trace;
pub mod turn;
pub mod turn_log;
pub mod usage;
pub mod wait;

/// The example of the guide: a driver of threads, which must compile and pass.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/embed-the-loop.md")]
struct Guide;

/// Gives an enum `as_str`, and `NAMES`: its values with their names, in this order.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($enum:ident: $($value:ident = $name:literal),+ $(,)?) => {
        impl $enum {
            /// The names and their values.
            pub const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),+];

            /// Its name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name),+
                }
            }
        }
    };
}
