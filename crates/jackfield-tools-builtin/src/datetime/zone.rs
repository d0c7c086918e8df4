//! Finds a zone by its name, the city that ends its name, or its offset from UTC.

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// Looks up a zone among the built-in ones, so that answers do not depend on the machine.
pub(crate) fn find(text: &str) -> Result<TimeZone, String> {
    let text = text.trim();
    if let Some(zone) = fixed(text) {
        return Ok(zone);
    }
    let zones = TimeZoneDatabase::bundled();
    let name = text.replace(' ', "_");
    if let Ok(zone) = zones.get(&name) {
        return Ok(zone);
    }
    let ends_with = |zone: &str| {
        let city = zone.rsplit_once('/').map(|(_, city)| city);
        city.is_some_and(|city| city.eq_ignore_ascii_case(&name))
    };
    let all = zones.available().map(|zone| zone.as_str().to_owned());
    let found: Vec<String> = all.filter(|zone| ends_with(zone)).collect();
    match found.as_slice() {
        [zone] => zones.get(zone).map_err(|error| error.to_string()),
        [] => Err(format!(
            "the time zone `{text}` is not known: use an IANA name such as `Europe/Paris`, or an offset such as `+05:30`"
        )),
        several => Err(format!(
            "`{text}` ends several IANA names: use one of {}",
            several.join(", ")
        )),
    }
}

/// Formats an offset as `+05:30`.
pub(crate) fn offset_text(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.unsigned_abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Parses `+05:30`, `UTC-3`, `GMT+0800` and `Z`; no place has an offset beyond -12:00 and +14:00.
fn fixed(text: &str) -> Option<TimeZone> {
    let upper = text.to_uppercase().replace(['−', '–'], "-");
    if matches!(upper.as_str(), "Z" | "UTC" | "GMT") {
        return Some(TimeZone::UTC);
    }
    let rest = upper
        .strip_prefix("UTC")
        .or_else(|| upper.strip_prefix("GMT"));
    let rest = rest.unwrap_or(&upper).trim_start();
    let sign = match rest.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let rest = &rest[1..];
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() == 4 && rest.is_ascii() => rest.split_at(2),
        None => (rest, "00"),
    };
    let number = |digits: &str, lengths: std::ops::RangeInclusive<usize>| {
        let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
        (is_number && lengths.contains(&digits.len())).then(|| digits.parse::<i32>().ok())?
    };
    let minutes = number(minutes, 2..=2).filter(|minutes| *minutes < 60)?;
    let east = sign * (number(hours, 1..=2)? * 60 + minutes);
    let offset = Offset::from_seconds(east * 60).ok()?;
    match east {
        0 => Some(TimeZone::UTC),
        _ => (-720..=840)
            .contains(&east)
            .then(|| TimeZone::fixed(offset)),
    }
}
