//! Which events tell a text: by the text alone, so that they are the same ones whenever it is told.

/// The pieces of a text that may be told by now.
///
/// The first character is a piece, so that the first words are out early. Then a piece is what stands before
/// the next blank, before the end of the text, or before it is as long as it may be. The end of a word is known
/// when the next one begins: the last word so far waits for that.
#[derive(Clone, Debug)]
pub(super) struct Pieces<'t> {
    /// Whether nothing comes behind the text.
    ended: bool,
    /// Whether the next piece is the first one of its text.
    first: bool,
    rest: &'t str,
}

impl<'t> Pieces<'t> {
    /// The pieces of what is left of a text. `first` is whether none of it was told, `ended` whether it is
    /// whole.
    pub(super) const fn of(rest: &'t str, first: bool, ended: bool) -> Self {
        Self { ended, first, rest }
    }

    /// Where the next piece ends, if that is known.
    fn end(&self) -> Option<usize> {
        let mut before: Option<char> = None;
        for (at, character) in self.rest.char_indices() {
            let begins_word = |before: char| character.is_whitespace() && !before.is_whitespace();
            if before.is_some_and(begins_word) {
                return Some(at);
            }
            let behind = at + character.len_utf8();
            if self.first || behind >= LONGEST || character >= WITHOUT_BLANKS {
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

/// How many bytes a piece has at least that ends within a word.
const LONGEST: usize = 16;
/// From here on, most characters are of scripts that put no blanks between words, or pictures.
const WITHOUT_BLANKS: char = '\u{2e80}';
