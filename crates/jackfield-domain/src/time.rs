//! Time as values: the domain never reads a clock, it is told.

use std::time::Duration;

/// A wall-clock instant, in milliseconds since 1970-01-01 UTC. What is stored and outlives a process.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct WallTime(i64);

impl WallTime {
    /// The instant this many milliseconds after 1970-01-01 UTC.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This instant and then this long; the far end of time if that overflows.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// An instant of a clock that never goes back, since some start that only one process knows.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MonoTime(Duration);

impl MonoTime {
    /// The instant this long after the clock's start.
    #[must_use]
    pub const fn from_start(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// How long after the clock's start this is.
    #[must_use]
    pub const fn elapsed(self) -> Duration {
        self.0
    }

    /// This instant and then this long.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(wait))
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The present, on both clocks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Now {
    /// For what is stored: deadlines of waits, instants of retries.
    pub wall: WallTime,
    /// For what a process times itself: calls, idle connections.
    pub mono: MonoTime,
}

impl Now {
    /// When the monotonic clock will be where the wall clock says `wall`; now, if that is past.
    #[must_use]
    pub fn mono_at(self, wall: WallTime) -> MonoTime {
        self.mono.after(wall.since(self.wall))
    }
}
