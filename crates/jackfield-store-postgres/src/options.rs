//! The options of a journal.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::time::WallTime;

use crate::address::Address;

/// A source of the current time.
pub type NowFn = Arc<dyn Fn() -> WallTime + Send + Sync>;

/// The options of a journal.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The source of the times of deliveries and of changes; `None` is the database, as it should be outside of tests.
    /// Leases always follow the database.
    pub clock: Option<NowFn>,
    /// The maximum number of connections, beside one for the lease. At least one.
    pub connections: usize,
    /// How long a process counts as alive after it was last heard of. It renews its lease at a tenth of this, and at
    /// most every second.
    pub lease: Duration,
    /// The address for notifications between processes, over one more connection that is not pooled in transaction mode;
    /// `None` for none. All processes of a journal should have one.
    pub listen: Option<Address>,
    /// How often a process looks for changes of others, at least, while it waits for some. A notification makes it look
    /// at once.
    pub poll: Duration,
    /// The schema that has the tables, of the letters `a` to `z`, digits and `_`.
    pub schema: String,
    /// How long a connection may take, and how long a statement.
    pub timeout: Duration,
}

impl Options {
    /// How often the lease is renewed.
    pub(crate) fn heartbeat(&self) -> Duration {
        (self.lease / 10).min(Duration::from_secs(1))
    }

    /// The lease as its owner sees it: shorter, as two clocks need not run at the same speed.
    pub(crate) fn own_lease(&self) -> Duration {
        self.lease - self.lease / 10
    }

    /// The time by the clock of a test.
    pub(crate) fn now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock().as_millis())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: None,
            connections: 10,
            lease: Duration::from_secs(10),
            listen: None,
            poll: POLL_INTERVAL,
            schema: SCHEMA.to_owned(),
            timeout: Duration::from_secs(10),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("connections", &self.connections)
            .field("lease", &self.lease)
            .field("listen", &self.listen)
            .field("poll", &self.poll)
            .field("schema", &self.schema)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The longest delay between a commit by another process and its detection here, by default, unless the database is
/// slow.
pub const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The default schema, which the statements name.
pub(crate) const SCHEMA: &str = "jackfield";
