//! Finding words in a text, by characters: those of the lower-case text stand where the text's own do.

use super::language::is_han;

/// A text in lower case, one character for one.
pub(super) fn lower(text: &str) -> Vec<char> {
    text.chars().map(lowercase).collect()
}

/// Whether there is a letter of a script that has spaces between words.
pub(super) fn is_letter(text: &[char], at: usize) -> bool {
    text.get(at)
        .is_some_and(|c| c.is_alphabetic() && !is_han(*c))
}

/// Whether these words stand here, whole; Chinese has no spaces, and a digit may touch a word.
pub(super) fn stands_at(text: &[char], at: usize, words: &str) -> bool {
    let length = words.chars().count();
    begins_at(text, at, words)
        && !(is_letter(text, at + length) && length > 0 && is_letter(text, at + length - 1))
}

/// Whether a word that begins like this stands here.
pub(super) fn begins_at(text: &[char], at: usize, words: &str) -> bool {
    let mut rest = text.iter().skip(at);
    let cuts_before = at > 0 && is_letter(text, at) && is_letter(text, at - 1);
    !cuts_before && words.chars().all(|c| rest.next() == Some(&c))
}

/// Where the first of these stands: its beginning and its end.
pub(super) fn first_of(text: &[char], phrases: &[&str]) -> Option<(usize, usize)> {
    (0..text.len()).find_map(|at| {
        let here = phrases.iter().filter(|phrase| stands_at(text, at, phrase));
        let longest = here.map(|phrase| phrase.chars().count()).max()?;
        Some((at, at + longest))
    })
}

/// Whether one of these stands there.
pub(super) fn has_any(text: &[char], phrases: &[&str]) -> bool {
    first_of(text, phrases).is_some()
}

/// Where the next thing stands on the same line.
pub(super) fn spaces(text: &[char], at: usize) -> usize {
    at + text.iter().skip(at).take_while(|c| **c == ' ').count()
}

fn lowercase(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some('ё'), None) => 'е',
        (Some(lower), None) => lower,
        _ => c,
    }
}
