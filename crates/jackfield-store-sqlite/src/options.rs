//! The options of a journal.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_domain::time::WallTime;

/// The source of the current time.
pub(crate) type NowFn = Arc<dyn Fn() -> WallTime + Send + Sync>;

/// The options of a journal.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// If recent commits took less than this and only one session is owned here, a commit runs inline and blocks
    /// its runtime thread for that time. All other commits run on the journal's thread; with zero, all of them do.
    pub inline_limit: Duration,
    /// The source of the time of deliveries.
    pub clock: NowFn,
    /// The size limit of the file in bytes, without its log; `None` is unlimited. Requests that do not fit are
    /// refused, while reads and deletions still work. A file that is already larger does not grow further.
    pub max_bytes: Option<u64>,
    /// How long a write waits for another process's write.
    pub busy_timeout: Duration,
    /// The size of the cache of decoded long sessions, in bytes of records. A later read of a cached session reads
    /// only the new steps. With zero, none are cached.
    pub recent_bytes: u64,
}

impl Options {
    /// The limit as a number of pages.
    pub(crate) fn max_pages(&self) -> Option<u32> {
        let pages = self.max_bytes? / PAGE;
        Some(
            u32::try_from(pages)
                .unwrap_or(MAX_PAGES)
                .clamp(1, MAX_PAGES),
        )
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inline_limit: Duration::from_millis(1),
            clock: Arc::new(system_time),
            max_bytes: None,
            busy_timeout: BUSY_TIMEOUT,
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
    // A clock before 1970 counts as 1970.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::from_millis(0).after(since.unwrap_or_default())
}

/// The default time that a process waits for another one's write.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Enough for some thousand turns.
const RECENT_BYTES: u64 = 16 * 1024 * 1024;
/// SQLite's default page size in bytes.
const PAGE: u64 = 4096;
/// The largest page number that SQLite supports.
const MAX_PAGES: u32 = 4_294_967_294;
