//! A journal in memory, encoded as a stored one would be.
//!
//! It is lost with the process. Everything else is as in a file: each step and each delivery is kept
//! as the bytes that `jackfield-record` makes of it, and read back from them; but for the steps of
//! sessions [in passing](MemoryJournal::passing), which are kept as they are.

mod holds;
mod journal;
mod marks;
mod record;
mod session;
mod waits;

pub use self::journal::MemoryJournal;
