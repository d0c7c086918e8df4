//! A journal in PostgreSQL 15 or later: one database for any number of processes.
//!
//! - **Durable.** An append that was answered *committed* is in the database's log, as far as its
//!   `synchronous_commit` keeps its promise.
//! - **Guarded.** An append names its epoch and its position. The row of its session is changed only if both are
//!   still current, in the statement that writes the steps.
//! - **Asked again.** If the connection breaks, it is unknown whether an append was committed. The same append is then
//!   sent again: the database has its steps under its epoch, or not.
//! - **Owned by lease.** Each process has one row with the time until which it counts as alive, and renews it every
//!   second, whatever number of sessions it owns. A lease that has passed is never renewed: the process begins
//!   again under another name, and its sessions are free. All times are the database's.
//! - **Without a session state.** Every statement is unnamed and typed, and no lock outlives a transaction: PgBouncer in
//!   transaction mode works.
//! - **Noticed.** Steps and deliveries of other processes are noticed within [`POLL_INTERVAL`], and at once where
//!   [`Options::listen`] gives an address for notifications.

mod address;
mod arrivals;
mod background;
mod check;
mod clock;
mod commit;
mod connector;
mod derived;
mod directory;
mod error;
mod holds;
mod import;
mod journal;
mod listing;
mod logins;
mod meters;
mod notifier;
mod options;
mod pool;
mod process;
mod records;
mod requests;
mod rows;
mod schema;
mod secrets;
mod spending;
mod tls;
mod upstream_responses;
mod waits;

pub use self::address::{Address, AddressError};
pub use self::error::OpenError;
pub use self::journal::PostgresJournal;
pub use self::options::{NowFn, Options, POLL_INTERVAL};

/// What the tests of this crate look at, beside what is public.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::notifier::Changes;
}
