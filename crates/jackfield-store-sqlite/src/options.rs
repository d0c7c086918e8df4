//! How a journal is opened.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_domain::time::WallTime;

use crate::schema;

/// Tells the time.
pub(crate) type NowFn = Arc<dyn Fn() -> WallTime + Send + Sync>;

/// How a journal is opened.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// A commit that takes less than this, as those before it did, is done where it is asked for, if only one
    /// session is owned here: it holds up that thread of the runtime for so long. All others are done by a
    /// thread of the journal; with nothing, all of them are.
    pub at_once: Duration,
    /// What tells the time of deliveries.
    pub clock: NowFn,
    /// The most bytes that the file may grow to, beside its log; `None` is as far as there is room. What
    /// does not fit is refused, and what is there can be read and deleted. A file that is larger already
    /// grows no more.
    pub most_bytes: Option<u64>,
    /// How long a write waits while another process writes.
    pub patience: Duration,
    /// Of the long sessions that were read last, so many bytes of records, decoded, are kept in memory: who
    /// reads such a session again reads what came since. With nothing, none are.
    pub recent_bytes: u64,
}

impl Options {
    /// The most pages that the file may have.
    pub(crate) fn most_pages(&self) -> Option<u32> {
        let pages = self.most_bytes? / PAGE;
        Some(
            u32::try_from(pages)
                .unwrap_or(MOST_PAGES)
                .clamp(1, MOST_PAGES),
        )
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            at_once: Duration::from_millis(1),
            clock: Arc::new(system_time),
            most_bytes: None,
            patience: schema::PATIENCE,
            recent_bytes: RECENT_BYTES,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

fn system_time() -> WallTime {
    // A clock before 1970 is as good as 1970.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::from_millis(0).after(since.unwrap_or_default())
}

/// Enough for some thousand turns.
const RECENT_BYTES: u64 = 16 * 1024 * 1024;
/// The bytes of a page, as SQLite has them unless it is told otherwise.
const PAGE: u64 = 4096;
/// The most pages that SQLite can count.
const MOST_PAGES: u32 = 4_294_967_294;
