//! Finds a zone by zone name, city, abbreviation or offset from UTC.

use std::collections::BTreeMap;

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

use super::cities::{self, City};

/// The result of a lookup.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// One zone.
    One(NamedZone),
    /// Places with the same name in zones with different clocks.
    Several(Vec<NamedZone>),
    /// No match; similar names.
    Nothing(Vec<String>),
    /// An offset that no place on earth has.
    OffEarth,
}

/// A zone, and the place by which it was found.
#[derive(Clone, Debug)]
pub(crate) struct NamedZone {
    /// The place, if it was found by name.
    pub(crate) label: Option<String>,
    /// The zone.
    pub(crate) zone: TimeZone,
}

impl NamedZone {
    /// Returns the name of the zone, or its offset if it has none.
    pub(crate) fn zone_name(&self, at: Timestamp) -> String {
        match self.zone.iana_name() {
            Some(name) => name.to_owned(),
            None => offset_text(self.zone.to_offset(at)),
        }
    }
}

/// The zones of the world.
#[derive(Clone, Debug)]
pub(crate) struct Zones(TimeZoneDatabase);

impl Zones {
    /// Uses the built-in zones, so that answers do not depend on the machine.
    pub(crate) fn bundled() -> Self {
        Self(TimeZoneDatabase::bundled())
    }

    /// Looks up a text, at this instant.
    pub(crate) fn find(&self, text: &str, now: Timestamp) -> Meaning {
        let text = text.trim();
        if let Some(offset) = offset(text) {
            return match offset {
                Some(offset) => Meaning::One(NamedZone {
                    label: None,
                    zone: fixed(offset),
                }),
                None => Meaning::OffEarth,
            };
        }
        if let Ok(zone) = self.0.get(&text.replace(' ', "_")) {
            return Meaning::One(NamedZone { label: None, zone });
        }
        let name = normal(text);
        let mut places = self.named(&name);
        if places.is_empty()
            && let Some(shorter) = name
                .strip_suffix('市')
                .or_else(|| name.strip_prefix("город "))
                .or_else(|| name.strip_prefix("г "))
        {
            places = self.named(shorter);
        }
        self.distinguish(places, now, &name)
    }

    /// Returns all places that have this name.
    fn named(&self, name: &str) -> Vec<NamedZone> {
        let cities: Vec<&City> = cities::all()
            .filter(|city| city.names.contains(&name))
            .collect();
        let cities = if cities.is_empty() {
            cities::all()
                .filter(|city| is_qualified(city, name))
                .collect()
        } else {
            cities
        };
        let mut places: Vec<NamedZone> = cities
            .into_iter()
            .filter_map(|city| self.place(city))
            .collect();
        for zone_name in self.0.available() {
            let zone_name = zone_name.as_str();
            let is_new = !places
                .iter()
                .any(|place| place.zone.iana_name() == Some(zone_name));
            if is_new
                && is_place(zone_name)
                && normal(last_part(zone_name)) == name
                && let Ok(zone) = self.0.get(zone_name)
            {
                let label = zone_name.replace('_', " ");
                places.push(NamedZone {
                    label: Some(label),
                    zone,
                });
            }
        }
        places
    }

    fn place(&self, city: &City) -> Option<NamedZone> {
        Some(NamedZone {
            label: Some(city.label.to_owned()),
            zone: self.0.get(city.zone).ok()?,
        })
    }

    /// Leaves out places whose clocks agree with an earlier one.
    fn distinguish(&self, places: Vec<NamedZone>, now: Timestamp, name: &str) -> Meaning {
        let mut distinct: Vec<NamedZone> = Vec::new();
        for place in places {
            if !distinct
                .iter()
                .any(|known| same_clock(&known.zone, &place.zone, now))
            {
                distinct.push(place);
            }
        }
        if distinct.len() > 1 {
            return Meaning::Several(distinct);
        }
        match distinct.pop() {
            Some(place) => Meaning::One(place),
            None => Meaning::Nothing(self.similar(name)),
        }
    }

    /// Returns names that resemble an unknown one, the nearest first, each zone once.
    fn similar(&self, name: &str) -> Vec<String> {
        let mut nearest: BTreeMap<String, (f64, String)> = BTreeMap::new();
        let mut offer = |likeness: f64, zone: &str, shown: String| {
            let known = nearest
                .get(zone)
                .is_some_and(|(known, _)| *known >= likeness);
            if likeness >= LIKENESS && !known {
                nearest.insert(zone.to_owned(), (likeness, shown));
            }
        };
        for city in cities::all() {
            for known in city.names {
                let shown = format!("{} ({})", city.label, city.zone);
                offer(likeness(name, known), city.zone, shown);
            }
        }
        for zone in self.0.available() {
            let zone = zone.as_str();
            if is_place(zone) {
                let by_city = likeness(name, &normal(last_part(zone)));
                let by_zone = likeness(name, &normal(zone));
                offer(by_city.max(by_zone), zone, zone.to_owned());
            }
        }
        let mut similar: Vec<(f64, String)> = nearest.into_values().collect();
        similar.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        similar
            .into_iter()
            .take(SUGGESTIONS)
            .map(|(_, shown)| shown)
            .collect()
    }
}

/// Formats an offset as `+05:30`.
pub(crate) fn offset_text(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.unsigned_abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Parses `+05:30`, `UTC-3`, `GMT+0800` and `Z`: `None` if it is not an offset, and `Some(None)` if no place has
/// it.
fn offset(text: &str) -> Option<Option<Offset>> {
    let upper = text.to_uppercase().replace(['−', '–'], "-");
    if matches!(upper.as_str(), "Z" | "UTC" | "GMT") {
        return Some(Some(Offset::UTC));
    }
    let rest = upper
        .strip_prefix("UTC")
        .or_else(|| upper.strip_prefix("GMT"))
        .unwrap_or(&upper)
        .trim_start();
    let (sign, rest) = match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
        (Some(rest), _) => (1, rest),
        (None, Some(rest)) => (-1, rest),
        (None, None) => return None,
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if rest.len() == 4 && rest.is_ascii() => rest.split_at(2),
        None => (rest, "0"),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !(1..=2).contains(&hours.len()) || !all_digits(hours) || !all_digits(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    if minutes > 59 {
        return None;
    }
    let minutes_east = sign * (hours * 60 + minutes);
    let on_earth = (-12 * 60..=14 * 60).contains(&minutes_east);
    Some(
        on_earth
            .then(|| Offset::from_seconds(minutes_east * 60).ok())
            .flatten(),
    )
}

fn fixed(offset: Offset) -> TimeZone {
    if offset == Offset::UTC {
        TimeZone::UTC
    } else {
        TimeZone::fixed(offset)
    }
}

/// Returns a name in the form for comparisons.
fn normal(name: &str) -> String {
    let plain: String = name
        .to_lowercase()
        .chars()
        .map(|character| match character {
            'ё' => 'е',
            '’' | '`' => '\'',
            '-' | '_' | ',' | '.' | '(' | ')' | '/' | '，' | '‐' | '–' => ' ',
            other => other,
        })
        .collect();
    plain.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Returns whether a name is that of a city followed by words of its label.
fn is_qualified(city: &City, name: &str) -> bool {
    let label = normal(city.label);
    city.names.iter().any(|known| {
        let Some(rest) = name
            .strip_prefix(known)
            .and_then(|rest| rest.strip_prefix(' '))
        else {
            return false;
        };
        let rest = match rest {
            "uk" | "england" | "great britain" | "britain" => "united kingdom",
            "us" | "united states" | "america" => "usa",
            "uae" => "united arab emirates",
            other => other,
        };
        rest.split(' ')
            .all(|word| label.split(' ').any(|known| known == word))
    })
}

/// Returns whether a zone's name is a continent and a place, and not a legacy alias.
fn is_place(zone: &str) -> bool {
    zone.contains('/') && !zone.starts_with("Etc/") && !zone.starts_with("SystemV/")
}

fn last_part(zone: &str) -> &str {
    zone.rsplit_once('/').map_or(zone, |(_, last)| last)
}

/// Returns whether two zones show the same time all year, last year and next year.
fn same_clock(a: &TimeZone, b: &TimeZone, now: Timestamp) -> bool {
    (-12..=12).all(|month| {
        let instant = now.saturating_add(SignedDuration::from_hours(month * 30 * 24));
        instant.is_ok_and(|instant| a.to_offset(instant) == b.to_offset(instant))
    })
}

fn likeness(name: &str, known: &str) -> f64 {
    strsim::jaro_winkler(name, known)
}

/// The lowest similarity of a suggestion; 1 is equal.
const LIKENESS: f64 = 0.8;

/// The number of suggestions.
const SUGGESTIONS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_city_has_a_zone_and_names_in_normal_form() {
        let zones = Zones::bundled();
        for city in cities::all() {
            assert!(zones.0.get(city.zone).is_ok(), "{} has no zone", city.label);
            for name in city.names {
                assert_eq!(normal(name), *name, "a name of {}", city.label);
            }
        }
    }

    #[test]
    fn every_name_of_a_city_finds_it() {
        let zones = Zones::bundled();
        let now = Timestamp::UNIX_EPOCH;
        for city in cities::all() {
            let own = zones.place(city).unwrap();
            for name in city.names {
                let found = match zones.find(name, now) {
                    Meaning::One(place) => vec![place],
                    Meaning::Several(places) => places,
                    Meaning::Nothing(_) | Meaning::OffEarth => Vec::new(),
                };
                let has_own = |place: &NamedZone| same_clock(&place.zone, &own.zone, now);
                assert!(
                    found.iter().any(has_own),
                    "{name} does not find {}",
                    city.label
                );
            }
        }
    }
}
