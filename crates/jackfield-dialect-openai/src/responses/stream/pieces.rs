//! Splits a text into events by its content alone, so that the split is reproducible.

/// The pieces of a text that can be written so far.
///
/// The first character is a piece, so that output starts early. After that, a piece ends before the next blank, at
/// the end of the text, or at the maximum length. A word's end is known only when the next one begins, so the last
/// word so far waits.
#[derive(Clone, Debug)]
pub(super) struct Pieces<'t> {
    /// Whether the text is complete.
    ended: bool,
    /// Whether the next piece is the first one of its text.
    first: bool,
    rest: &'t str,
}

impl<'t> Pieces<'t> {
    /// The pieces of the rest of a text. `first` is whether none of it was written, `ended` whether it is complete.
    pub(super) const fn new(rest: &'t str, first: bool, ended: bool) -> Self {
        Self { ended, first, rest }
    }

    /// The end of the next piece, if known.
    fn end(&self) -> Option<usize> {
        let mut before: Option<char> = None;
        for (at, character) in self.rest.char_indices() {
            let begins_word = |before: char| character.is_whitespace() && !before.is_whitespace();
            if before.is_some_and(begins_word) {
                return Some(at);
            }
            let behind = at + character.len_utf8();
            if self.first || behind >= MAX_LENGTH || character >= WITHOUT_BLANKS {
                return Some(behind);
            }
            before = Some(character);
        }
        (self.ended && !self.rest.is_empty()).then_some(self.rest.len())
    }
}

impl<'t> Iterator for Pieces<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let (piece, rest) = self.rest.split_at_checked(self.end()?)?;
        self.first = false;
        self.rest = rest;
        Some(piece)
    }
}

/// The least number of bytes of a piece that ends within a word.
const MAX_LENGTH: usize = 16;
/// From this character on, most scripts put no blanks between words, or the characters are pictographs.
const WITHOUT_BLANKS: char = '\u{2e80}';
