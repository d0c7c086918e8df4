//! Code blocks of Markdown, as far as they decide whether a text only quotes a call.

/// Whether a text is within a code block, after each of its characters.
///
/// A line of at least three backticks or tildes begins a block, and one of the same characters that is at least as long
/// and has nothing behind it ends it (CommonMark 0.31, section 4.5). Any indentation and any marks of quotes and lists may
/// stand before: what is taken for a block too often only leaves calls unread.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct CodeFence {
    inside: Option<Fence>,
    line: Line,
}

/// The line that begins a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Fence {
    length: u32,
    mark: char,
}

/// A line so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Line {
    /// What may stand before a fence.
    #[default]
    Start,
    /// Marks, which are too few for a fence, or may end the block.
    Marks(Fence),
    /// The fence that begins the block.
    Opening,
    /// The words behind the fence that begins the block.
    Info,
    /// A fence that ends the block, if nothing else follows.
    Closing,
    /// Anything else.
    Text,
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
            (Line::Marks(marks), '\n') if self.is_ended_by(marks) => self.end(),
            (Line::Closing, '\n') => self.end(),
            (_, '\n') => Line::Start,
            (Line::Start, ' ' | '\t' | '>' | '-' | '*' | '+' | '.' | ')' | '0'..='9') => {
                Line::Start
            }
            (Line::Start, '`' | '~') => Line::Marks(Fence { length: 1, mark: c }),
            (Line::Marks(Fence { length, mark }), _) if mark == c => {
                let length = length.saturating_add(1);
                let marks = Fence { length, mark };
                if self.inside.is_none() && length == LEAST_LENGTH {
                    self.inside = Some(marks);
                    Line::Opening
                } else {
                    Line::Marks(marks)
                }
            }
            (Line::Marks(marks), ' ' | '\t' | '\r') if self.is_ended_by(marks) => Line::Closing,
            (Line::Closing, ' ' | '\t' | '\r') => Line::Closing,
            (Line::Opening, _) => match &mut self.inside {
                Some(open) if open.mark == c => {
                    open.length = open.length.saturating_add(1);
                    Line::Opening
                }
                Some(_) | None => Line::Info,
            },
            // A code span, as the words behind a fence of backticks have none.
            (Line::Info, '`') if self.inside.is_some_and(|open| open.mark == '`') => {
                self.inside = None;
                Line::Text
            }
            (Line::Info, _) => Line::Info,
            (Line::Start | Line::Marks(_) | Line::Closing | Line::Text, _) => Line::Text,
        };
    }

    fn is_ended_by(self, marks: Fence) -> bool {
        let inside = self.inside;
        inside.is_some_and(|open| marks.mark == open.mark && marks.length >= open.length)
    }

    fn end(&mut self) -> Line {
        self.inside = None;
        Line::Start
    }
}

/// The length of the shortest fence.
const LEAST_LENGTH: u32 = 3;
