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

    /// The instant as RFC 3339 writes it, in UTC and to the millisecond.
    ///
    /// The days are counted as in Howard Hinnant's `civil_from_days`: years begin in March, so that the day
    /// that some of them have more is their last.
    ///
    /// ```
    /// use jackfield_domain::time::WallTime;
    ///
    /// let leap = WallTime::from_millis(1_709_210_096_007);
    /// assert_eq!(leap.to_rfc3339(), "2024-02-29T12:34:56.007Z");
    /// ```
    #[must_use]
    pub fn to_rfc3339(self) -> String {
        let (days, of_day) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let from_march = days + 719_468;
        let (era, of_era) = (from_march.div_euclid(ERA), from_march.rem_euclid(ERA));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
        let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
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

/// The milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// The days of four hundred years.
const ERA: i64 = 146_097;
