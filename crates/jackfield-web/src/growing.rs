//! Markdown as HTML while it is written: what is complete stays, and only the block that grows is made anew.

use pulldown_cmark::{Event, Parser};

use crate::OPTIONS;
use crate::formula::Formulas;
use crate::markdown::{html_of, to_html};

/// A text that grows.
#[derive(Clone, Debug, Default)]
pub struct GrowingText {
    /// Whether its HTML has become too long to be made again and again.
    is_plain: bool,
    /// The length of `rest` when its HTML was made last.
    made_at: usize,
    /// The block that grows, and what follows it in an unfinished line.
    rest: String,
}

/// What a text that has grown looks like. A link is one only if its target is defined in the same block.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct GrownHtml {
    /// The blocks that have become complete; they follow those from before.
    pub complete: String,
    /// What stands behind all complete blocks, in place of what stood there before.
    pub rest: String,
}

impl GrowingText {
    /// Takes more of the text. Returns its HTML once the block that grows has become longer by a noticeable part, so that
    /// the work for a text is a multiple of its length. Never for a block of more than 16 KiB, and never again once a piece
    /// of HTML has more than 128 KiB: a table of a few letters can have a hundred thousand cells.
    pub fn push(&mut self, more: &str) -> Option<GrownHtml> {
        if self.is_plain {
            return None;
        }
        self.rest.push_str(more);
        let grown = self.rest.len() - self.made_at;
        let is_due = grown >= (self.rest.len() / STEPS).max(1);
        if !is_due {
            return None;
        }
        let complete = self
            .rest
            .drain(..self.complete_length())
            .collect::<String>();
        self.made_at = self.rest.len();
        if self.rest.len() > LIMIT && complete.is_empty() {
            return None;
        }
        let html = GrownHtml {
            complete: to_html(&complete),
            rest: html_of(&self.rest, true),
        };
        self.is_plain = html.complete.len() > complete.len() + HTML_LIMIT
            || html.rest.len() > self.rest.len() + HTML_LIMIT;
        if self.is_plain {
            self.rest = String::new();
            return None;
        }
        Some(html)
    }

    /// The length of all blocks before the last one that begins in a complete line: what follows it cannot change them.
    fn complete_length(&self) -> usize {
        let lines = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let mut depth = 0_usize;
        let mut last = 0;
        let formulas = Formulas::find(&self.rest, true);
        let text = formulas.text(&self.rest);
        for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
            if depth == 0 && range.start < lines {
                last = range.start;
            }
            if let Event::Start(_) = event {
                depth += 1;
            } else if let Event::End(_) = event {
                depth = depth.saturating_sub(1);
            }
        }
        // An indented block begins behind its indentation, which is a part of it.
        let before = self.rest.get(..last).unwrap_or_default();
        before.rfind(['\n', '\r']).map_or(0, |end| end + 1)
    }
}

/// The share by which a block has to grow is one of so many.
const STEPS: usize = 32;

/// A longer block is shown as plain text from there on, in bytes.
const LIMIT: usize = 16 << 10;

/// By how much HTML may be longer than its text, in bytes.
const HTML_LIMIT: usize = 128 << 10;
