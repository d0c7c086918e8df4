//! Parses `--since`: a date or a duration, in the time zone of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_assembly::length_of_time;
use jackfield_domain::time::WallTime;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::exit::Exit;
use crate::fault::CommandError;

/// The start time.
///
/// # Errors
///
/// [`CommandError`] if it is neither a date nor a duration.
pub(crate) fn since(text: &str) -> Result<WallTime, CommandError> {
    if let Ok(day) = text.parse::<Date>()
        && let Ok(midnight) = day.to_zoned(TimeZone::system())
    {
        return Ok(WallTime::from_millis(midnight.timestamp().as_millisecond()));
    }
    let Ok(back) = length_of_time(text) else {
        let message = format!("`{text}` is neither a day nor a length of time");
        let help = "write a day, as in 2026-11-01, or how long ago, as in 30d or 12h";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let then = now.unwrap_or_default().saturating_sub(back);
    Ok(WallTime::from_millis(
        i64::try_from(then.as_millis()).unwrap_or(i64::MAX),
    ))
}

#[must_use]
pub(crate) fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::from_millis(0).after(since.unwrap_or_default())
}

/// The date of a timestamp, such as `2026-11-22`.
#[must_use]
pub(crate) fn day(at: WallTime) -> String {
    zoned(at).map_or_else(
        || UNKNOWN.to_owned(),
        |at| at.strftime("%Y-%m-%d").to_string(),
    )
}

/// A timestamp for people, such as `2026-11-22 12:30:05`.
#[must_use]
pub(crate) fn shown(at: WallTime) -> String {
    zoned(at).map_or_else(
        || UNKNOWN.to_owned(),
        |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// A timestamp for programs, such as `2026-11-22T11:30:05.123Z`.
#[must_use]
pub(crate) fn exact(at: WallTime) -> String {
    Timestamp::from_millisecond(at.as_millis())
        .map_or_else(|_| UNKNOWN.to_owned(), |at| at.to_string())
}

fn zoned(at: WallTime) -> Option<Zoned> {
    let at = Timestamp::from_millisecond(at.as_millis()).ok()?;
    Some(at.to_zoned(TimeZone::system()))
}

/// A timestamp outside of the calendar.
const UNKNOWN: &str = "?";
