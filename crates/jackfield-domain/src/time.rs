//! Time as values: the domain never reads a clock.

use std::time::Duration;

/// A wall-clock instant, in milliseconds since 1970-01-01 UTC. Used for stored times, which outlive a process.
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

    /// This instant plus a duration; saturates on overflow.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// The number of its minute, since 1970-01-01 UTC.
    #[must_use]
    pub const fn utc_minute(self) -> i64 {
        self.0.div_euclid(MINUTE)
    }

    /// The number of its day in UTC, since 1970-01-01.
    #[must_use]
    pub const fn utc_day(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// The number of its month in UTC, since January 1970.
    ///
    /// ```
    /// use jackfield_domain::time::WallTime;
    ///
    /// let leap = WallTime::from_millis(1_709_210_096_007);
    /// assert_eq!(leap.utc_month(), 54 * 12 + 1);
    /// assert_eq!(WallTime::at_utc_month(54 * 12 + 2).to_rfc3339(), "2024-03-01T00:00:00.000Z");
    /// ```
    #[must_use]
    pub const fn utc_month(self) -> i64 {
        let (year, month, _) = date(self.utc_day());
        (year - 1970) * 12 + month - 1
    }

    /// The beginning of the minute with this number.
    #[must_use]
    pub const fn at_utc_minute(minute: i64) -> Self {
        Self(minute.saturating_mul(MINUTE))
    }

    /// The beginning of the day with this number.
    #[must_use]
    pub const fn at_utc_day(day: i64) -> Self {
        Self(day.saturating_mul(DAY))
    }

    /// The beginning of the month with this number.
    #[must_use]
    pub const fn at_utc_month(month: i64) -> Self {
        let (year, month) = (1970 + month.div_euclid(12), month.rem_euclid(12) + 1);
        Self::at_utc_day(days(year, month, 1))
    }

    /// The instant in RFC 3339 format, in UTC, with milliseconds.
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
        let (year, month, day) = date(days);
        let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
        let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }

    /// The instant that RFC 3339 writes so, in UTC and to the second; fractions of one are left out.
    ///
    /// ```
    /// use jackfield_domain::time::WallTime;
    ///
    /// let leap = WallTime::from_rfc3339("2024-02-29T12:34:56.789Z");
    /// assert_eq!(leap, Some(WallTime::from_millis(1_709_210_096_000)));
    /// assert_eq!(WallTime::from_rfc3339("2024-02-29"), None);
    /// ```
    #[must_use]
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix(['Z', 'z'])?.split_once(['T', 't'])?;
        let time = time.split('.').next()?;
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        let is_valid = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !is_valid {
            return None;
        }
        let of_day = (hour * 3_600 + minute * 60 + second) * 1_000;
        Some(Self(days(year, month, day) * DAY + of_day))
    }

    /// The duration since `earlier`; zero if `earlier` is not before this.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// An instant of a monotonic clock, relative to a start that is specific to one process.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MonoTime(Duration);

impl MonoTime {
    /// The instant this long after the clock's start.
    #[must_use]
    pub const fn from_start(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// The time since the clock's start.
    #[must_use]
    pub const fn elapsed(self) -> Duration {
        self.0
    }

    /// This instant plus a duration.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(wait))
    }

    /// The duration since `earlier`; zero if `earlier` is not before this.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Year, month and day of the day with this number since 1970-01-01.
///
/// As in Howard Hinnant's `civil_from_days`: years begin in March, so that the leap day is the last day of a year.
const fn date(days: i64) -> (i64, i64, i64) {
    let from_march = days.saturating_add(719_468);
    let (era, of_era) = (from_march.div_euclid(ERA), from_march.rem_euclid(ERA));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

/// The number of a day since 1970-01-01.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Three numbers with these numbers of digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut found = [0; 3];
    for (number, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_valid = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_valid.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(found)
}

/// The current time, on both clocks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Now {
    /// For stored times: deadlines of waits, instants of retries.
    pub wall: WallTime,
    /// For timing within a process: calls, idle connections.
    pub mono: MonoTime,
}

impl Now {
    /// The monotonic instant at which the wall clock shows `wall`; now, if that is past.
    #[must_use]
    pub fn mono_at(self, wall: WallTime) -> MonoTime {
        self.mono.after(wall.since(self.wall))
    }
}

/// Milliseconds per day.
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// A minute in milliseconds.
const MINUTE: i64 = 60_000;
/// Days per 400 years.
const ERA: i64 = 146_097;
