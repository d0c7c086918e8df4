//! Leaves out the words that a server repeats at the beginning of its reply: those that it continues.

use std::borrow::Cow;

/// The words that a reply may repeat, and how far it has.
///
/// Blanks at their end may be missing from the repetition.
#[derive(Debug, Default)]
pub(super) struct RepeatedPrefill {
    expected: String,
    /// The length in bytes of what was repeated so far.
    repeated: usize,
}

impl RepeatedPrefill {
    pub(super) const fn new(expected: String) -> Self {
        Self {
            expected,
            repeated: 0,
        }
    }

    /// The new words of the next fragment of text.
    pub(super) fn push<'a>(&mut self, words: &'a str) -> Cow<'a, str> {
        let missing = self.missing();
        if missing.is_empty() {
            return Cow::Borrowed(words);
        }
        let pairs = missing.chars().zip(words.chars());
        let same = pairs.take_while(|(missing, said)| missing == said);
        let (same, new) = words.split_at(same.map(|(_, said)| said.len_utf8()).sum());
        self.repeated += same.len();
        if new.is_empty() {
            return Cow::Borrowed("");
        }
        let held = self.end();
        if held.is_empty() {
            return Cow::Borrowed(new);
        }
        Cow::Owned(held + new)
    }

    /// The words held back, if they turn out to be no repetition.
    pub(super) fn end(&mut self) -> String {
        let is_repetition = self.missing().trim().is_empty();
        let mut held = std::mem::take(&mut self.expected);
        held.truncate(if is_repetition { 0 } else { self.repeated });
        held
    }

    fn missing(&self) -> &str {
        self.expected.get(self.repeated..).unwrap_or_default()
    }
}
