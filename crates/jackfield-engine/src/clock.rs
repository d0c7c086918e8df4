//! The clock from which the loop gets its time.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_ports::journal::Journal;

/// A source of time.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Now;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    start: tokio::time::Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            start: tokio::time::Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            // The runtime's clock, so that a test can pause it.
            mono: MonoTime::from_start(self.start.elapsed()),
            wall: WallTime::from_millis(i64::try_from(wall.as_millis()).unwrap_or(i64::MAX)),
        }
    }
}

/// A clock whose wall time is that of a journal, where it has one: clocks of several machines differ, and so would their
/// ideas of a deadline or of a day.
pub(crate) struct JournalClock {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) machine: Arc<dyn Clock>,
}

impl Clock for JournalClock {
    fn now(&self) -> Now {
        let now = self.machine.now();
        Now {
            wall: self.journal.now().unwrap_or(now.wall),
            ..now
        }
    }
}
