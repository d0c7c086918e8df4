//! A journal in memory that encodes records like a durable one.
//!
//! Its content is lost with the process. Otherwise it behaves like a file: each step and each delivery is
//! stored as the bytes that `jackfield-record` encodes, and decoded when it is read. The steps of
//! [ephemeral](MemoryJournal::ephemeral) journals are stored as values instead.

mod directory;
mod holds;
mod journal;
mod marks;
mod record;
mod session;
mod spending;

pub use self::journal::MemoryJournal;
