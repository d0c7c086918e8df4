//! Instants as people and programs write them, in UTC.

use jackfield_domain::time::WallTime;

/// The instant as RFC 3339 writes it, to the millisecond.
///
/// The days are counted as in Howard Hinnant's `civil_from_days`: years begin in March, so that the day
/// that some of them have more is their last.
pub(super) fn written(instant: WallTime) -> String {
    let millis = instant.as_millis();
    let (days, of_day) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
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

/// The milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// The days of four hundred years.
const ERA: i64 = 146_097;
