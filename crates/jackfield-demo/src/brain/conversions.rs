//! Lengths in miles and kilometres, as the calculator converts them.

use super::text::{lower, spaces, stands_at};

/// The conversions in a text, each with the place where it begins.
pub(super) fn find(text: &str) -> Vec<(usize, String)> {
    let text = lower(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let Some((end, amount, unit)) = length(&text, at) else {
            at += 1;
            continue;
        };
        // The other unit stands anywhere in the question: `how many km are 5 miles`, `5 miles in km`.
        let rest = text.get(end..).unwrap_or_default();
        let before = text.get(..at).unwrap_or_default();
        let other = UNITS.iter().find(|(name, _)| *name != unit);
        if let Some((other, names)) = other
            && [before, rest].iter().any(|part| has(part, names))
        {
            found.push((at, format!("{amount} {unit} to {other}")));
        }
        at = end;
    }
    found
}

/// The length that stands here: its end, its number and its unit.
fn length(text: &[char], start: usize) -> Option<(usize, String, &'static str)> {
    let is_digit = |at: usize| text.get(at).is_some_and(char::is_ascii_digit);
    let is_part = |at: usize| {
        let is_point = matches!(text.get(at), Some('.' | ',')) && is_digit(at + 1);
        is_digit(at) || is_point
    };
    let follows_number = start > 0 && (is_part(start - 1) || is_digit(start - 1));
    if !is_digit(start) || follows_number {
        return None;
    }
    let end = (start..text.len()).find(|at| !is_part(*at))?;
    let amount: String = text.get(start..end)?.iter().collect();
    let unit_at = spaces(text, end);
    UNITS.iter().find_map(|(unit, names)| {
        let stands = names.iter().filter(|name| stands_at(text, unit_at, name));
        let longest = stands.map(|name| name.chars().count()).max()?;
        Some((unit_at + longest, amount.clone(), *unit))
    })
}

fn has(text: &[char], names: &[&str]) -> bool {
    (0..text.len()).any(|at| names.iter().any(|name| stands_at(text, at, name)))
}

/// The units as the calculator calls them, and as people do.
#[rustfmt::skip]
const UNITS: &[(&str, &[&str])] = &[
    ("miles", &["mile", "miles", "mi", "миля", "мили", "миль", "милю", "милях", "英里"]),
    ("km", &[
        "km", "kilometre", "kilometres", "kilometer", "kilometers",
        "км", "километр", "километра", "километры", "километров", "километрах", "公里", "千米",
    ]),
];
