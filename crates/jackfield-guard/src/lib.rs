//! Child processes: started with a clean environment, and ended with us, for any cause.
//!
//! A [`Child`] is one program behind its pipes. Its [`guard`] is a process between us and it, which ends the program
//! and everything that it has started when we are gone. This crate reads no files and knows no protocol.

mod child;
mod environment;
pub mod guard;
mod output;
mod private;
mod program;

pub use child::{Child, Streams};
pub use output::Output;
pub use private::keep_to_itself;
pub use program::{ChildProgram, GuardProgram, StartFault};

/// What the tests of this crate look at, beside what is public.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::guard::hangup::is_closed;
}
