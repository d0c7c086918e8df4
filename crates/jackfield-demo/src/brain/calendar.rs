//! Questions about days: today, tomorrow, yesterday, and how long it is until one.
//!
//! The clock says the date of today; the rest is counted from there.

use super::DemoTask;
use super::language::Language;
use super::text::{first_of, has_any, lower};
use super::words;

/// A question about a day.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DayQuestion {
    /// The date so many days from today.
    Date(i64),
    /// How many days there are until a date: year, if said, month and day.
    Until(Option<i64>, i64, i64),
}

/// The question about a day in a text, with the place where it stands.
pub(super) fn find(text: &str) -> Option<(usize, DemoTask)> {
    let (at, _) = question(text)?;
    let task = DemoTask::Tell {
        format: FORMAT,
        zone: None,
    };
    Some((at, task))
}

/// The answer to the question of the text, from the date of today.
pub(super) fn answer(language: Language, text: &str, today: &str) -> Option<String> {
    let (_, question) = question(text)?;
    let (year, month, day) = date(today.trim())?;
    let today = days(year, month, day);
    Some(match question {
        DayQuestion::Date(more) => words::day(language, more, &written(today + more)),
        DayQuestion::Until(said, month, day) => {
            let next = |year: i64| days(year, month, day);
            let year = said.unwrap_or_else(|| year + i64::from(next(year) < today));
            let aim = next(year);
            words::until(language, aim - today, &written(aim))
        }
    })
}

fn question(text: &str) -> Option<(usize, DayQuestion)> {
    let lower = lower(text);
    if let Some((at, end)) = first_of(&lower, UNTIL) {
        // Chinese names the day before it asks.
        let aim: String = lower.get(end..)?.iter().collect();
        let all: String = lower.iter().collect();
        let (year, month, day) = named(&aim).or_else(|| named(&all))?;
        return Some((at, DayQuestion::Until(year, month, day)));
    }
    let (at, _) = first_of(&lower, CUES)?;
    let more = DAYS.iter().find(|(_, names)| has_any(&lower, names));
    more.map(|(more, _)| (at, DayQuestion::Date(*more)))
}

/// The date that a text names: `2026-12-25`, `25 December`, `December 25`, `Christmas`.
fn named(text: &str) -> Option<(Option<i64>, i64, i64)> {
    let parts = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let words = parts(text);
    if let Some((year, month, day)) = words.iter().find_map(|word| date(word)) {
        return Some((Some(year), month, day));
    }
    for (names, month, day) in FEASTS {
        if names.iter().any(|name| text.contains(name)) {
            return Some((None, *month, *day));
        }
    }
    let number = |word: &String| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits
            .parse::<i64>()
            .ok()
            .filter(|day| (1..=31).contains(day))
    };
    words.iter().enumerate().find_map(|(at, word)| {
        let month = MONTHS.iter().position(|(english, russian)| {
            word.starts_with(english) || word.starts_with(russian)
        })?;
        let beside = [at.checked_sub(1), Some(at + 1)];
        let day = beside
            .into_iter()
            .flatten()
            .find_map(|at| number(words.get(at)?))?;
        Some((None, month as i64 + 1, day))
    })
}

/// A date such as `2026-12-25`.
fn date(text: &str) -> Option<(i64, i64, i64)> {
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    (is_date && (1..=31).contains(&day)).then_some((year, month, day))
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that a leap day is its last one.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let in_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year - EPOCH
}

/// The date of a day.
fn written(day: i64) -> String {
    // The first year that begins after the day is at most one away from this.
    let mut year = 1970 + day.div_euclid(365);
    while days(year, 1, 1) > day {
        year -= 1;
    }
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day);
    let month = month.unwrap_or(1);
    format!("{year:04}-{month:02}-{:02}", day - days(year, month, 1) + 1)
}

/// The days from the beginning of March of the year 0 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// The format of the date of today, which the clock takes.
pub(super) const FORMAT: &str = "%Y-%m-%d";

#[rustfmt::skip]
const UNTIL: &[&str] = &[
    "days until", "days till", "days to", "days is it until", "days is it to", "days are left until", "days before",
    "дней до", "还有多少天", "还有几天", "距离",
];

#[rustfmt::skip]
const CUES: &[&str] = &[
    "today's date", "tomorrow's date", "yesterday's date", "what date", "what day", "what's the date", "what is the date",
    "какое число", "какое сегодня число", "какое завтра число", "какое вчера было число", "какой день", "какой сегодня день",
    "几号", "几月几号", "什么日期",
];

/// Words for days, by how far they are from today; the last one is what is meant without a word.
#[rustfmt::skip]
const DAYS: &[(i64, &[&str])] = &[
    (1, &["tomorrow", "tomorrow's", "завтра", "明天"]),
    (-1, &["yesterday", "yesterday's", "вчера", "昨天"]),
    (0, &["today", "today's", "is it", "the date", "date is it", "сегодня", "今天", "几号"]),
];

/// Days with a name.
#[rustfmt::skip]
const FEASTS: &[(&[&str], i64, i64)] = &[
    (&["christmas eve"], 12, 24),
    (&["christmas", "рождеств", "圣诞"], 12, 25),
    (&["new year", "нового года", "новый год", "元旦", "新年"], 1, 1),
];

/// How the months begin, in English and Russian.
#[rustfmt::skip]
const MONTHS: &[(&str, &str)] = &[
    ("jan", "январ"), ("feb", "феврал"), ("mar", "март"), ("apr", "апрел"), ("may", "ма"), ("jun", "июн"),
    ("jul", "июл"), ("aug", "август"), ("sep", "сентябр"), ("oct", "октябр"), ("nov", "ноябр"), ("dec", "декабр"),
];
