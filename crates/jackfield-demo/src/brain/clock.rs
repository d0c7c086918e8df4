//! Questions about the time, and the places that they are about.

use super::DemoTask;
use super::language::{Language, is_han};
use super::places;
use super::text::{first_of, lower, spaces, stands_at};

/// The questions about the time in a text, each with the place where it stands.
pub(super) fn find(text: &str, language: Language) -> Vec<(usize, DemoTask)> {
    let own: Vec<char> = text.chars().collect();
    let lower = lower(text);
    let Some(cue) = first_of(&lower, CUES) else {
        return Vec::new();
    };
    let is_chinese = lower.get(cue.0).is_some_and(|c| is_han(*c));
    let zones = if is_chinese {
        before_cue(&lower, cue.0)
    } else {
        after_prepositions(&own, &lower, cue)
    };
    let format = match language {
        Language::Chinese => "%Y年%-m月%-d日 %H:%M %Z",
        Language::English => "human",
        Language::Russian => "%d.%m.%Y, %H:%M %Z",
    };
    let tell = |zone| DemoTask::Tell { format, zone };
    if zones.as_ref().is_some_and(Vec::is_empty) {
        return vec![(cue.0, tell(None))];
    }
    let zones = zones.into_iter().flatten();
    zones.map(|(at, zone)| (at, tell(Some(zone)))).collect()
}

/// The places after each `in`; `None` if the question is about one that cannot be read.
fn after_prepositions(
    own: &[char],
    text: &[char],
    cue: (usize, usize),
) -> Option<Vec<(usize, String)>> {
    let ends = |at: &usize| matches!(text.get(*at), None | Some('?' | '!' | '.' | '\n'));
    let asked = cue.1..(cue.1..).find(ends)?;
    let mut zones = Vec::new();
    for at in 0..text.len() {
        let Some(word) = PREPOSITIONS.iter().find(|word| stands_at(text, at, word)) else {
            continue;
        };
        let is_asked = asked.contains(&at);
        let found = listed(own, text, at + word.chars().count(), is_asked);
        if is_asked && found.is_empty() {
            return None;
        }
        zones.extend(found);
    }
    Some(zones)
}

/// The items of a list such as `Springfield, Tokyo and Paris`; new names only if they are wanted.
fn listed(own: &[char], text: &[char], mut at: usize, with_new: bool) -> Vec<(usize, String)> {
    let mut items = Vec::new();
    loop {
        at = spaces(text, at);
        let known = places::named_at(text, at).map(|(end, zone)| (end, zone.to_owned()));
        let Some((end, zone)) = known.or_else(|| new_name(own, at).filter(|_| with_new)) else {
            return items;
        };
        items.push((at, zone));
        at = spaces(text, end);
        let next = at;
        for joint in [",", "and", "и"] {
            if stands_at(text, at, joint) {
                at = spaces(text, at + joint.chars().count());
            }
        }
        if at == next {
            return items;
        }
    }
}

/// Up to three words with capitals, which the clock may know: `Los Angeles`, `Europe/Sofia`.
fn new_name(own: &[char], start: usize) -> Option<(usize, String)> {
    let (mut at, mut end) = (start, start);
    for _ in 0..3 {
        let is_part = |c: &&char| c.is_alphabetic() || matches!(c, '-' | '/' | '_');
        let length = own.iter().skip(at).take_while(is_part).count();
        if length == 0 || !own.get(at).is_some_and(|c| c.is_uppercase()) {
            break;
        }
        end = at + length;
        at = spaces(own, end);
    }
    let name: String = own.iter().skip(start).take(end - start).collect();
    (name.chars().count() >= 3).then_some((end, name))
}

/// What a Chinese question names right before it asks; `None` if that is hardly a place.
fn before_cue(text: &[char], cue: usize) -> Option<Vec<(usize, String)>> {
    let is_part = |at: &usize| {
        let c = text.get(*at);
        c.is_some_and(|c| c.is_alphabetic() || matches!(c, ' ' | '、'))
    };
    let start = cue - (0..cue).rev().take_while(is_part).count();
    let named = text.get(start..cue).unwrap_or_default();
    let mut zones = Vec::new();
    for name in named.split(|c| matches!(c, '和' | '、')) {
        if let Some((_, zone)) = (0..name.len()).find_map(|at| places::named_at(name, at)) {
            zones.push((start, zone.to_owned()));
            continue;
        }
        let mut name: String = name.iter().filter(|c| **c != ' ').collect();
        for filler in FILLERS {
            name = name.replace(filler, "");
        }
        if name.chars().count() > MAX_HAN || !name.chars().all(is_han) {
            return None;
        }
        if !name.is_empty() {
            zones.push((start, name));
        }
    }
    Some(zones)
}

/// The longest name of a place in Chinese that is left to the clock.
const MAX_HAN: usize = 6;

#[rustfmt::skip]
const CUES: &[&str] = &[
    "what time is it", "what time it is", "what's the time", "what is the time", "tell me the time", "current time",
    "который час", "который сейчас час", "сколько сейчас времени",
    "现在几点", "几点了", "是几点",
];

const PREPOSITIONS: &[&str] = &["in", "в", "во"];

/// What Chinese puts around a place in such a question, the longer first.
#[rustfmt::skip]
const FILLERS: &[&str] = &["告诉我", "请问", "你好", "多少", "现在", "时间", "请", "再", "是", "的"];
