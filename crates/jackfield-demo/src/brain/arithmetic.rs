//! Arithmetic in a text: spans that read as an expression, written as the calculator takes it.

mod grammar;
mod numerals;
mod tokens;

use super::language::Language;
use super::text::{has_any, lower};

/// The expressions in a text, each with the place where it begins.
pub(super) fn find(text: &str, language: Language) -> Vec<(usize, String)> {
    let lower = lower(text);
    let tokens = tokens::read(&lower, language);
    let asks = has_any(&lower, CUES);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let Some(span) = grammar::longest(&tokens, at) else {
            at += 1;
            continue;
        };
        at = span.end;
        let end = tokens.get(span.end - 1).map_or(token.end, |last| last.end);
        if span.is_sum && (asks || !is_doubtful(&lower, token.at, end)) {
            found.push((token.at, span.text));
        }
    }
    found
}

/// Whether a span is likelier a date, a range or `24/7`: digits with hyphens or slashes right between
/// them, among other words.
fn is_doubtful(text: &[char], start: usize, end: usize) -> bool {
    let (before, span) = text.split_at(start);
    let (span, after) = span.split_at(end - start);
    let is_alone = !before.iter().chain(after).any(|c| c.is_alphanumeric());
    !is_alone
        && span
            .iter()
            .all(|c| c.is_ascii_digit() || matches!(c, '-' | '/'))
}

/// What shows that a number is asked for.
const CUES: &[&str] = &[
    "=",
    "calculate",
    "compute",
    "divide",
    "evaluate",
    "how many",
    "how much",
    "solve",
    "work out",
    "вычисли",
    "посчитай",
    "посчитать",
    "рассчитай",
    "реши",
    "сколько",
    "чему равно",
    "чему равен",
    "чему равна",
    "多少",
    "等于",
    "算",
    "得几",
];
