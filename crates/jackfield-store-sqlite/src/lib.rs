//! A journal in one SQLite file: embedded, durable, safe for several processes at once.
//!
//! - **Durable.** An append that was answered *committed* has been synced: it outlives the process and a
//!   loss of power, as far as the disk keeps its word.
//! - **Group commit.** Turns side by side are written by one thread. What waits while it syncs is
//!   committed with the next sync, so that they share their syncs; each append is still all or nothing.
//!   A turn that is alone on a quick disk commits by itself, and wakes nobody.
//! - **Owned.** Each process that has the file open holds an operating-system lock under a name of its
//!   own. A session's owner is such a name: as long as the lock is held the session is taken, and the
//!   moment that its process dies, however it dies, anybody may take over.
//! - **Witnessed.** What was appended last is noted outside of the database, so that a log that was cut and
//!   an older copy of the file are seen when it is opened next.
//! - **Held.** A session that somebody holds is not deleted: each of its holders has a lock on a file of its own
//!   beside the database.
//! - **Heard.** A delivery of another process is noticed within [`NOTICED`].
//!
//! The steps and deliveries are the records of `jackfield-record`, and nothing else is: what stands
//! beside them in columns is there to be searched and compared.

mod arrivals;
mod chain;
mod check;
mod commit;
mod derived;
mod error;
mod file;
mod forms;
mod holds;
mod jobs;
mod journal;
mod listing;
mod marks;
mod opened;
mod options;
mod owned;
mod owners;
mod parts;
mod read_only;
mod readers;
mod recent;
mod records;
mod requests;
mod restored;
mod rows;
mod schema;
mod witness;
mod writer;

pub use self::arrivals::NOTICED;
pub use self::check::{CheckProgress, CheckReport, QuickChecked};
pub use self::error::OpenError;
pub use self::journal::SqliteJournal;
pub use self::options::Options;
pub use self::read_only::ReadOnlyJournal;
pub use self::restored::RestoredState;
