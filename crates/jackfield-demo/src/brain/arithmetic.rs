//! Arithmetic in a text: spans that read as an expression, written as the calculator takes it.

mod grammar;
mod numerals;
mod tokens;

use self::tokens::{WordKind, WordToken};
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
        let bullet = is_bullet(&lower, &tokens, at);
        let Some(span) = grammar::longest(&tokens, at).filter(|_| !bullet) else {
            at += 1;
            continue;
        };
        let end = tokens.get(span.end - 1).map_or(token.end, |last| last.end);
        let is_whole =
            !goes_on_before(&lower, &tokens, at) && !goes_on_after(&lower, &tokens, span.end);
        if span.is_sum && is_whole && (asks || !is_doubtful(&lower, token.at, end)) {
            found.push((token.at, span.text));
        }
        at = span.end;
    }
    found
}

/// Whether this sign is punctuation: it begins an item of a list, or is a dash between words.
fn is_bullet(text: &[char], tokens: &[WordToken], at: usize) -> bool {
    let Some(token) = tokens.get(at) else {
        return false;
    };
    let last = at.checked_sub(1).and_then(|before| tokens.get(before));
    let before = text.get(..token.at).unwrap_or_default();
    let begins_line = matches!(before.iter().rev().find(|c| **c != ' '), None | Some('\n'));
    let is_dash = token.kind == WordKind::Operator("-")
        && last.is_some_and(|last| {
            last.kind == WordKind::Other && last.end < token.at && last.end - last.at > 1
        });
    matches!(token.kind, WordKind::Operator(_))
        && text.get(token.end) == Some(&' ')
        && (begins_line || is_dash)
}

/// Whether a span is the end of something that cannot be read as a whole: `x^2 + 3`.
fn goes_on_before(text: &[char], tokens: &[WordToken], at: usize) -> bool {
    let before = at.checked_sub(1);
    let last = before.and_then(|before| Some((before, tokens.get(before)?)));
    let (Some(token), Some((before, last))) = (tokens.get(at), last) else {
        return false;
    };
    let touches = last.end == token.at || text.get(token.end) == Some(&' ');
    let is_minus = token.kind == WordKind::Operator("-");
    let joins = matches!(token.kind, WordKind::Operator(_)) && (touches || !is_minus);
    let is_sign = matches!(last.kind, WordKind::Operator(_));
    (is_sign && !is_bullet(text, tokens, before)) || (joins && is_name(text, last))
}

/// Whether a span is the beginning of something that cannot be read as a whole: `3 * x`.
fn goes_on_after(text: &[char], tokens: &[WordToken], end: usize) -> bool {
    let Some([sign, next]) = tokens.get(end..end + 2) else {
        return false;
    };
    // A dash between spaces is punctuation.
    let is_dash = sign.kind == WordKind::Operator("-") && sign.end != next.at;
    matches!(sign.kind, WordKind::Operator(_)) && !is_dash && is_name(text, next)
}

/// Whether a token that is no arithmetic has letters or digits.
fn is_name(text: &[char], token: &WordToken) -> bool {
    let c = text.get(token.at);
    token.kind == WordKind::Other && c.is_some_and(|c| c.is_alphanumeric())
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
