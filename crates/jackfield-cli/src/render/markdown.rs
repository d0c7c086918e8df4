//! Answers in Markdown, drawn on a terminal while they come.
//!
//! What was printed is never taken back: text appears as soon as nothing that may come behind it can
//! change how it looks, a word of a paragraph at once, a table when it has ended. However a text is cut
//! into pieces, the same is printed. Nothing of the text reaches the terminal as an escape sequence,
//! not even one that is written as an entity.

mod draw;
mod flow;
mod forget;
mod hold;
mod table;

use self::draw::{draw, masked};
use self::flow::{Flow, Gap};
use self::hold::settled;
use crate::render::words;

/// A text in Markdown that is being drawn.
#[derive(Debug)]
pub struct Markdown {
    begun: bool,
    /// What parts the block from what is before it, where its beginning was forgotten.
    gap: Option<Gap>,
    /// The source of the block that is not whole.
    pending: String,
    /// What was printed of that block.
    shown: String,
    styled: bool,
    /// The width that this block is drawn with.
    width: usize,
}

impl Markdown {
    /// Nothing yet; `styled` says whether the terminal has styles.
    #[must_use]
    pub const fn new(styled: bool) -> Self {
        Self {
            begun: false,
            gap: None,
            pending: String::new(),
            shown: String::new(),
            styled,
            width: USUAL,
        }
    }

    /// Takes more of the text, and gives what can be printed now, on a terminal of this width.
    #[must_use]
    pub fn push(&mut self, text: &str, columns: usize) -> String {
        // A block that is being shown keeps its width: what stands there cannot be changed.
        if self.shown.is_empty() {
            self.width = columns.min(WIDEST).saturating_sub(1).max(NARROWEST);
        }
        self.pending.push_str(&words::printable(text));
        if self.pending.len() > LONG && !text.contains('\n') {
            // A block is read again for each piece, which is too much for a long one.
            return String::new();
        }
        if self.pending.len() > LONGEST {
            return self.finish();
        }
        let settled = settled(&masked(&self.pending));
        let mut out = String::new();
        if settled.last > 0 {
            let rest = self.pending.split_off(settled.last);
            out.push_str(&self.finish());
            self.pending = rest;
        }
        let limit = settled.limit - settled.last;
        let source = settled.source - settled.last;
        let source = self.pending.get(..source).unwrap_or_default();
        let drawn = draw(self.flow(), &masked(source), limit, false);
        out.push_str(&self.more(drawn));
        if self.pending.len() > LONG {
            self.forget();
        }
        out
    }

    /// Forgets what of a long block was drawn and changes nothing any more.
    fn forget(&mut self) {
        let Some(kept) = forget::kept(&self.pending, &masked(&self.pending)) else {
            return;
        };
        self.pending = kept.source;
        self.gap = kept.gap.or(self.gap);
        let settled = settled(&masked(&self.pending));
        let source = self.pending.get(..settled.source).unwrap_or_default();
        self.shown = draw(self.flow(), &masked(source), settled.limit, false);
    }

    /// Ends the text, and gives the rest of it.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let drawn = draw(self.flow(), &masked(&self.pending), usize::MAX, true);
        let rest = self.more(drawn);
        self.begun |= !self.shown.is_empty();
        self.gap = None;
        self.pending.clear();
        self.shown.clear();
        rest
    }

    fn flow(&self) -> Flow {
        let gap = if self.begun { Gap::Blank } else { Gap::None };
        Flow::new(self.width, self.styled, self.gap.unwrap_or(gap))
    }

    /// What this drawing has more than was printed.
    fn more(&mut self, drawn: String) -> String {
        let more = match drawn.strip_prefix(&self.shown) {
            Some(more) => more.to_owned(),
            // The text was understood in another way after all. It is better told with a wrong style
            // than twice, or not at all.
            None => behind(&drawn, visible(&self.shown)),
        };
        if !more.is_empty() {
            self.shown = drawn;
        }
        more
    }
}

/// How many characters of a drawing are seen, spaces aside.
fn visible(drawn: &str) -> usize {
    seen(drawn).count()
}

/// What comes behind this many characters.
fn behind(drawn: &str, count: usize) -> String {
    let end = match count.checked_sub(1) {
        Some(last) => seen(drawn)
            .nth(last)
            .map_or(drawn.len(), |(at, c)| at + c.len_utf8()),
        None => 0,
    };
    drawn.get(end..).unwrap_or_default().to_owned()
}

/// The characters of a drawing that are seen, and where they are.
fn seen(drawn: &str) -> impl Iterator<Item = (usize, char)> {
    let mut escaped = false;
    drawn.char_indices().filter(move |(_, c)| {
        let hidden = escaped || *c == '\u{1b}' || c.is_whitespace();
        escaped = (escaped && *c != 'm') || *c == '\u{1b}';
        !hidden
    })
}

/// Longer blocks are looked at by line.
const LONG: usize = 4 << 10;

/// Longer blocks are cut.
const LONGEST: usize = 64 << 10;

/// Narrower terminals get lines that they have to break themselves.
const NARROWEST: usize = 20;

/// The width where there is nothing to see it from.
const USUAL: usize = 80;

/// Wider lines are hard to read.
const WIDEST: usize = 120;
