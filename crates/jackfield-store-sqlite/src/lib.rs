//! A journal in one SQLite file: embedded, durable, safe for several processes at once.
//!
//! - **Durable.** An append that was answered *committed* has been synced: it survives the end of the process and a
//!   loss of power, as far as the disk keeps its promises.
//! - **Group commit.** One thread writes for concurrent turns. Requests that wait during a sync are committed with
//!   the next one, so that they share it; each append is still all or nothing. A turn that is alone on a fast disk
//!   commits inline, without waking a thread.
//! - **Owned.** Each process that has the file open holds an operating-system lock under a unique name. A session's
//!   owner is such a name: the session is taken as long as the lock is held, and any process may take over the
//!   moment the owner dies, in whichever way.
//! - **Witnessed.** The last append is noted outside of the database, so that the next opening detects a truncated
//!   log or an older copy of the file.
//! - **Held.** A held session is not deleted: each held session has a file beside the database, which its holders
//!   lock.
//! - **Beside the sessions.** Spending records, the changes to the directory, the logins of browsers and the responses
//!   that providers keep have tables of their own, and belong to no session.
//! - **Notified.** A delivery of another process is noticed within [`POLL_INTERVAL`].
//!
//! Only the steps, deliveries, spending records and changes to the directory are records of `jackfield-record`; of the
//! other columns, all but those of logins and responses exist for search and comparison.

mod arrivals;
mod chain;
mod check;
mod commit;
mod derived;
mod directory;
mod error;
mod file;
mod forms;
mod holds;
mod import;
mod jobs;
mod journal;
mod listing;
mod logins;
mod marks;
mod meters;
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
mod secrets;
mod spending;
mod witness;
mod writer;

pub use self::arrivals::POLL_INTERVAL;
pub use self::error::OpenError;
pub use self::journal::SqliteJournal;
pub use self::options::Options;
pub use self::owners::open_private;
pub use self::read_only::ReadOnlyJournal;
