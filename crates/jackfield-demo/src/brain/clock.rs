//! Questions about the time and the date, and the places that they are about.

mod cues;

use self::cues::{
    DATE_CUES, FILLERS, NO_CUES, NO_NAME_HAN, NO_NAMES, PLACE_CUES, PREPOSITIONS, TIME_CUES,
    TIME_WORDS,
};
use super::DemoTask;
use super::language::{Language, is_han};
use super::places::{self, NamedCity};
use super::text::{first_of, has_any, is_letter, lower, stands_at};

/// The questions about the time in a text, each with the place where it stands.
pub(super) fn find(text: &str, language: Language) -> Vec<(usize, DemoTask)> {
    let own: Vec<char> = text.chars().collect();
    let lower = lower(text);
    let named = places::find(&lower);
    let date = first_of(&lower, DATE_CUES);
    let time = first_of(&lower, TIME_CUES);
    let place_cue = first_of(&lower, PLACE_CUES).or_else(|| place_and_time(&lower, &named));
    let is_false = has_any(&lower, NO_CUES);
    let cue = match (time.or(date), place_cue) {
        (Some(cue), _) if !is_false => cue,
        (_, Some(cue)) if !named.is_empty() => cue,
        (_, _) => return Vec::new(),
    };
    let date_only = date.is_some() && time.is_none() && !has_any(&lower, TIME_WORDS);
    let format = match (language, date_only) {
        (Language::Chinese, false) => "%Y年%-m月%-d日 %H:%M %Z",
        (Language::Chinese, true) => "%Y年%-m月%-d日 (%A)",
        (Language::English, false) => "human",
        (Language::English, true) => "%A, %-d %B %Y",
        (Language::Russian, false) => "%d.%m.%Y, %H:%M %Z",
        (Language::Russian, true) => "%d.%m.%Y (%A)",
    };
    let tell = |zone: Option<String>| DemoTask::Tell { format, zone };
    let mut zones: Vec<(usize, String)> = unknown(&own, &lower, cue, &named);
    zones.extend(named.iter().map(|place| (place.at, place.zone.to_owned())));
    zones.sort();
    if zones.is_empty() {
        return vec![(cue.0, tell(None))];
    }
    let tasks = zones.into_iter();
    tasks.map(|(at, zone)| (at, tell(Some(zone)))).collect()
}

/// `Tokyo time`.
fn place_and_time(text: &[char], named: &[NamedCity]) -> Option<(usize, usize)> {
    let after = |place: &NamedCity| stands_at(text, place.end + 1, "time");
    let place = named.iter().find(|place| after(place))?;
    Some((place.at, place.end + 5))
}

/// Places that stand where a place should, and that the table does not have.
fn unknown(
    own: &[char],
    text: &[char],
    cue: (usize, usize),
    named: &[NamedCity],
) -> Vec<(usize, String)> {
    let preposition = |at: &usize| PREPOSITIONS.iter().any(|word| stands_at(text, *at, word));
    let items = match (cue.0..text.len()).find(preposition) {
        Some(at) => {
            let from = (at..).take_while(|at| is_letter(text, *at)).count() + at;
            listed(text, from)
        }
        None => before_cue(text, cue.0),
    };
    let is_new =
        |&(from, to): &(usize, usize)| !named.iter().any(|place| from < place.end && place.at < to);
    items
        .into_iter()
        .filter(is_new)
        .map(|(from, to)| (from, own.iter().skip(from).take(to - from).collect()))
        .collect()
}

/// The items of a list such as `Springfield, Shelbyville and Ogdenville`.
fn listed(text: &[char], mut at: usize) -> Vec<(usize, usize)> {
    let mut items = Vec::new();
    loop {
        let mut end = None;
        at = spaces(text, at);
        let start = at;
        for _ in 0..MAX_WORDS {
            let word = (at..).take_while(|at| is_of_name(text, *at)).count();
            let is_name = word > 0 && text.get(at).is_some_and(|c| c.is_alphabetic());
            if !is_name || NO_NAMES.iter().any(|stop| stands_at(text, at, stop)) {
                break;
            }
            end = Some(at + word);
            at = spaces(text, at + word);
        }
        let Some(end) = end else {
            return items;
        };
        items.push((start, end));
        let mut next = at;
        for sign in [",", "and", "or", "&", "и", "или"] {
            if stands_at(text, next, sign) {
                next = spaces(text, next + sign.chars().count());
            }
        }
        if next == at {
            return items;
        }
        at = next;
    }
}

/// What a Chinese question names right before it asks: 火星 of 请问火星现在几点.
fn before_cue(text: &[char], cue: usize) -> Vec<(usize, usize)> {
    let is_part = |at: &usize| text.get(*at).is_some_and(|c| is_han(*c));
    if !is_part(&cue) {
        return Vec::new();
    }
    let length = (0..cue).rev().take_while(is_part).count();
    let (mut from, mut to) = (cue - length, cue);
    loop {
        let filler = |word: &&&str| {
            let length = word.chars().count();
            from + length <= to && stands_at(text, from, word)
        };
        let last = |word: &&&str| {
            let length = word.chars().count();
            from + length <= to && stands_at(text, to - length, word)
        };
        if let Some(word) = FILLERS.iter().find(filler) {
            from += word.chars().count();
        } else if let Some(word) = FILLERS.iter().find(last) {
            to -= word.chars().count();
        } else {
            break;
        }
    }
    let name = text.get(from..to).unwrap_or_default();
    if !(2..=MAX_HAN).contains(&name.len()) || name.iter().any(|c| NO_NAME_HAN.contains(c)) {
        return Vec::new();
    }
    let mut items = Vec::new();
    let mut start = from;
    for at in from..=to {
        let is_joint = text
            .get(at)
            .is_some_and(|c| matches!(c, '和' | '与' | '跟'));
        if at == to || is_joint {
            if start < at {
                items.push((start, at));
            }
            start = at + 1;
        }
    }
    items
}

fn spaces(text: &[char], at: usize) -> usize {
    at + text.iter().skip(at).take_while(|c| **c == ' ').count()
}

/// Whether a character can be part of a place's name.
fn is_of_name(text: &[char], at: usize) -> bool {
    text.get(at)
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '\'' | '-' | '/' | '_'))
}

/// The most words of a place's name.
const MAX_WORDS: usize = 3;
/// The longest name of a place in Chinese.
const MAX_HAN: usize = 12;
