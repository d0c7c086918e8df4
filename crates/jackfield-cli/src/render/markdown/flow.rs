//! Fills lines of a given width with words, after the margin of their block. Append-only.

use anstyle::Style;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::render::words;

/// The gap between two blocks.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Gap {
    /// Nothing.
    None,
    Line,
    /// An empty line.
    Blank,
}

/// The margin of the lines of a block.
#[derive(Clone, Debug)]
struct Margin {
    /// The margin of the first line, until it is printed.
    first: Option<String>,
    rest: String,
    style: Style,
}

#[derive(Debug)]
pub(super) struct Flow {
    column: usize,
    gap: Gap,
    margins: Vec<Margin>,
    out: String,
    space: bool,
    /// The gap before the first line, until it is printed.
    start: Option<Gap>,
    styled: bool,
    width: usize,
    word: Vec<(Style, String)>,
}

impl Flow {
    /// An empty flow after this gap.
    pub(super) const fn new(width: usize, styled: bool, start: Gap) -> Self {
        Self {
            column: 0,
            gap: Gap::None,
            margins: Vec::new(),
            out: String::new(),
            space: false,
            start: Some(start),
            styled,
            width,
            word: Vec::new(),
        }
    }

    /// The text so far, including the last word and the last margin.
    pub(super) fn finish(mut self) -> String {
        self.end_word();
        self.out
    }

    pub(super) const fn is_styled(&self) -> bool {
        self.styled
    }

    /// The columns left by the margins.
    pub(super) fn room(&self) -> usize {
        let margins = self.margins.iter().map(|margin| margin.rest.width());
        self.width.saturating_sub(margins.sum()).max(NARROWEST)
    }

    /// Ends the previous block with at least this gap.
    pub(super) fn part(&mut self, gap: Gap) {
        self.end_word();
        self.space = false;
        if self.column > 0 {
            self.gap = self.gap.max(Gap::Line);
            self.column = 0;
        }
        self.gap = self.gap.max(gap);
    }

    /// Adds a margin to all lines from now on; the next line begins with `first`.
    pub(super) fn indent(&mut self, style: Style, first: &str, rest: &str) {
        self.margins.push(Margin {
            first: Some(first.to_owned()),
            rest: rest.to_owned(),
            style,
        });
    }

    /// Removes the last margin. With `begin`, a margin that was never printed is printed now.
    pub(super) fn outdent(&mut self, begin: bool) {
        self.end_word();
        if begin
            && self
                .margins
                .last()
                .is_some_and(|margin| margin.first.is_some())
        {
            self.begin_line();
            self.part(Gap::Line);
        }
        self.margins.pop();
    }

    /// Adds text that may be broken between words.
    pub(super) fn text(&mut self, style: Style, text: &str) {
        for piece in words::printable(text).graphemes(true) {
            if piece.chars().all(char::is_whitespace) {
                self.end_word();
                self.space = self.column > 0;
                continue;
            }
            let before = self.word.last().and_then(|(_, word)| word.chars().last());
            if before.is_some_and(|before| may_break(before, piece)) {
                self.end_word();
            }
            self.glue(style, piece);
        }
    }

    /// Adds text that is not broken.
    pub(super) fn glue(&mut self, style: Style, text: &str) {
        match self.word.last_mut() {
            Some((last, word)) if *last == style => word.push_str(text),
            _ => self.word.push((style, text.to_owned())),
        }
    }

    /// Adds a line as it is, without wrapping.
    pub(super) fn line(&mut self, style: Style, text: &str) {
        self.part(Gap::None);
        if text.is_empty() && self.margins.is_empty() {
            // An empty line counts as a line.
            self.begin_line();
            self.column = 1;
        } else {
            self.glue(style, text);
        }
        self.part(Gap::Line);
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let width: usize = self.word.iter().map(|(_, text)| text.width()).sum();
        if self.column > 0 && self.column + usize::from(self.space) + width > self.width {
            self.column = 0;
            self.gap = self.gap.max(Gap::Line);
        }
        if self.column == 0 {
            self.begin_line();
        } else if self.space {
            self.out.push(' ');
            self.column += 1;
        }
        self.space = false;
        self.column += width.max(1);
        for (style, text) in std::mem::take(&mut self.word) {
            self.write(style, &text);
        }
    }

    fn begin_line(&mut self) {
        let feeds = match self.start.take().unwrap_or(self.gap) {
            Gap::None => 0,
            Gap::Line => 1,
            Gap::Blank => 2,
        };
        self.gap = Gap::None;
        self.out.extend(std::iter::repeat_n('\n', feeds));
        let mut margins = std::mem::take(&mut self.margins);
        for margin in &mut margins {
            let text = margin.first.take().unwrap_or_else(|| margin.rest.clone());
            self.column += text.width();
            self.write(margin.style, &text);
        }
        self.margins = margins;
    }

    fn write(&mut self, style: Style, text: &str) {
        if self.styled && !style.is_plain() && !text.trim().is_empty() {
            self.out.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.out.push_str(text);
        }
    }
}

/// Whether a line may break here: between Chinese or Japanese characters, but not before a closing mark or after
/// an opening one.
fn may_break(before: char, after: &str) -> bool {
    let Some(after) = after.chars().next() else {
        return false;
    };
    (is_ideographic(before) || is_ideographic(after))
        && !CLOSING.contains(after)
        && !OPENING.contains(before)
}

/// Whether the character belongs to a script without spaces between words.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(
        u32::from(c),
        0x3000..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0xff00..=0xffef
            | 0x20000..=0x3fffd
    )
}

/// Characters that must not begin a line.
pub(super) const CLOSING: &str =
    "、。，．！？：；）」』】》〉〕｝］”’%,.!?:;)]}ーっゃゅょッャュョ…";

/// Characters that must not end a line.
const OPENING: &str = "（「『【《〈〔｛［“‘([{";

/// The minimum width of a line.
const NARROWEST: usize = 10;
