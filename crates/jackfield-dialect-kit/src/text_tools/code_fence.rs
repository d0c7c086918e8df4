//! Code blocks of Markdown, as far as they decide whether a text only quotes a call.

/// Whether a text is within a code block, after each of its characters.
///
/// A line of three backticks or tildes, indented by at most three spaces, begins or ends a block (CommonMark 0.31,
/// section 4.5; the lengths of the two fences are not compared).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct CodeFence {
    inside: Option<char>,
    line: Line,
}

/// The beginning of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Line {
    /// Only these spaces.
    Indent(u8),
    /// So many characters of a fence.
    Marks(char, u8),
    /// Anything else.
    Text,
}

impl Default for Line {
    fn default() -> Self {
        Self::Indent(0)
    }
}

impl CodeFence {
    /// Whether the text so far ends within a code block.
    pub(super) const fn is_inside(self) -> bool {
        self.inside.is_some()
    }

    /// Adds text.
    pub(super) fn push_str(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }

    /// Adds a character.
    pub(super) fn push(&mut self, c: char) {
        self.line = match (self.line, c) {
            (_, '\n') => Line::default(),
            (Line::Indent(spaces @ 0..3), ' ') => Line::Indent(spaces + 1),
            (Line::Indent(_), '`' | '~') => Line::Marks(c, 1),
            (Line::Marks(mark, count @ 1..2), _) if mark == c => Line::Marks(mark, count + 1),
            (Line::Marks(mark, _), _) if mark == c => {
                match self.inside {
                    None => self.inside = Some(mark),
                    Some(open) if open == mark => self.inside = None,
                    Some(_) => {}
                }
                Line::Text
            }
            (Line::Indent(_) | Line::Marks(..) | Line::Text, _) => Line::Text,
        };
    }
}
