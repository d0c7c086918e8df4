//! Renders Markdown answers on a terminal as they arrive.
//!
//! Printed text is never taken back: text appears as soon as nothing that may follow can change its look. That is
//! at once for a word of a paragraph, and at the end for a table. The output does not depend on how the text is
//! split into pieces. No escape sequence of the text reaches the terminal, not even one written as an entity.

mod draw;
mod flow;
mod forget;
mod hold;
mod table;

use self::draw::{draw, masked};
use self::flow::{Flow, Gap};
use self::hold::settled_prefix;
use crate::render::words;

/// A Markdown text in progress.
#[derive(Debug)]
pub struct Markdown {
    begun: bool,
    /// The gap before the block, where its beginning was dropped.
    gap: Option<Gap>,
    /// The source of the incomplete block.
    pending: String,
    /// The printed part of that block.
    rendered: String,
    styled: bool,
    /// The width of this block.
    width: usize,
}

impl Markdown {
    /// An empty text; `styled` says whether the terminal has styles.
    #[must_use]
    pub const fn new(styled: bool) -> Self {
        Self {
            begun: false,
            gap: None,
            pending: String::new(),
            rendered: String::new(),
            styled,
            width: USUAL,
        }
    }

    /// Takes more of the text, and returns what can be printed now, on a terminal of this width.
    #[must_use]
    pub fn push(&mut self, text: &str, columns: usize) -> String {
        // A partly printed block keeps its width, as printed lines cannot change.
        if self.rendered.is_empty() {
            self.width = columns.min(WIDEST).saturating_sub(1).max(NARROWEST);
        }
        self.pending.push_str(&words::printable(text));
        if self.pending.len() > LONG && !text.contains('\n') {
            // Each piece parses the whole block again, which is too expensive for a long one.
            return String::new();
        }
        if self.pending.len() > MAX_LENGTH {
            return self.finish();
        }
        let settled = settled_prefix(&masked(&self.pending));
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

    /// Drops the rendered part of a long block that affects nothing after it.
    fn forget(&mut self) {
        let Some(kept) = forget::rest_of_block(&self.pending, &masked(&self.pending)) else {
            return;
        };
        self.pending = kept.source;
        self.gap = kept.gap.or(self.gap);
        let settled = settled_prefix(&masked(&self.pending));
        let source = self.pending.get(..settled.source).unwrap_or_default();
        self.rendered = draw(self.flow(), &masked(source), settled.limit, false);
    }

    /// Ends the text, and returns the rest.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let drawn = draw(self.flow(), &masked(&self.pending), usize::MAX, true);
        let rest = self.more(drawn);
        self.begun |= !self.rendered.is_empty();
        self.gap = None;
        self.pending.clear();
        self.rendered.clear();
        rest
    }

    fn flow(&self) -> Flow {
        let gap = if self.begun { Gap::Blank } else { Gap::None };
        Flow::new(self.width, self.styled, self.gap.unwrap_or(gap))
    }

    /// The part of this rendering that is not printed yet.
    fn more(&mut self, drawn: String) -> String {
        let more = match drawn.strip_prefix(&self.rendered) {
            Some(more) => more.to_owned(),
            // The text turned out to parse differently. A wrong style is better than printing it twice, or not at
            // all.
            None => behind(&drawn, visible(&self.rendered)),
        };
        if !more.is_empty() {
            self.rendered = drawn;
        }
        more
    }
}

/// The number of visible characters of a rendering, without spaces.
fn visible(drawn: &str) -> usize {
    seen(drawn).count()
}

/// The text after this many visible characters.
fn behind(drawn: &str, count: usize) -> String {
    let end = match count.checked_sub(1) {
        Some(last) => seen(drawn)
            .nth(last)
            .map_or(drawn.len(), |(at, c)| at + c.len_utf8()),
        None => 0,
    };
    drawn.get(end..).unwrap_or_default().to_owned()
}

/// The visible characters of a rendering, with their positions.
fn seen(drawn: &str) -> impl Iterator<Item = (usize, char)> {
    let mut escaped = false;
    drawn.char_indices().filter(move |(_, c)| {
        let hidden = escaped || *c == '\u{1b}' || c.is_whitespace();
        escaped = (escaped && *c != 'm') || *c == '\u{1b}';
        !hidden
    })
}

/// Longer blocks are parsed only at line ends.
const LONG: usize = 4 << 10;

const MAX_LENGTH: usize = 64 << 10;

/// Narrower terminals break the lines themselves.
const NARROWEST: usize = 20;

const USUAL: usize = 80;

/// Wider lines are hard to read.
const WIDEST: usize = 120;
