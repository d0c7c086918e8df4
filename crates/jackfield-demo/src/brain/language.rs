//! The languages that the model speaks, and which of them a text is in.

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Language {
    Chinese,
    #[default]
    English,
    Russian,
}

impl Language {
    /// The language of a text, by its script; `None` if there is not a word in it.
    ///
    /// A Chinese or Russian question may well name `New York` or `sqrt`, an English one hardly
    /// 东京: so a letter of those scripts weighs more.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (mut han, mut cyrillic, mut latin) = (0_usize, 0_usize, 0_usize);
        for c in text.chars() {
            match c {
                'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => latin += 1,
                '\u{400}'..='\u{52f}' => cyrillic += 1,
                c if is_han(c) => han += 1,
                _ => {}
            }
        }
        if han * 4 > latin && han >= cyrillic {
            Some(Self::Chinese)
        } else if cyrillic * 3 > latin {
            Some(Self::Russian)
        } else if latin > 0 {
            Some(Self::English)
        } else {
            None
        }
    }
}

/// Whether a character is a Chinese one: such words have no spaces between them.
pub(super) const fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}
