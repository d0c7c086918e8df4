//! Finds the settled part of a piece of Markdown, which later text cannot change.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::draw::OPTIONS;
use super::flow::{CLOSING, is_ideographic};

/// The settled part of a piece.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct SettledPrefix {
    /// The start of its last block. Everything before can be dropped once it is rendered.
    pub(super) last: usize,
    /// How far the last block can be rendered.
    pub(super) limit: usize,
    /// How much of the source may be parsed.
    pub(super) source: usize,
}

/// Finds the settled part of an incomplete piece.
pub(super) fn settled_prefix(pending: &str) -> SettledPrefix {
    let line = line_of(pending, pending.len());
    let source = last_break(pending);
    let open = |end: usize| is_undecided(pending.get(line..end).unwrap_or_default());
    let source = if source <= line || open(source) || open(pending.len()) {
        line
    } else {
        source
    };
    let text = pending.get(..source).unwrap_or_default();
    let (mut last, mut depth) = (0, 0_usize);
    let mut leaf = Leaf::default();
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match &event {
            Event::Start(tag) => {
                if depth == 0 && !is_inline(tag) {
                    last = range.start;
                }
                depth += 1;
                leaf.start(tag, &range);
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                leaf.end(*tag);
            }
            Event::Rule => {
                if depth == 0 {
                    last = range.start;
                }
                leaf = Leaf::default();
            }
            Event::Text(text) => leaf.text(pending, text, &range),
            Event::Code(_) => leaf.codes.push(range),
            Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::HardBreak
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::SoftBreak
            | Event::TaskListMarker(_) => {}
        }
    }
    let mut limit = source;
    match leaf.kind {
        PieceKind::Lines => limit = limit.min(line),
        PieceKind::Whole
            if text
                .get(leaf.range.clone())
                .is_some_and(|leaf| !leaf.ends_with('\n')) =>
        {
            limit = limit.min(leaf.range.start);
        }
        PieceKind::Table => limit = limit.min(leaf.range.start),
        PieceKind::Inline => {
            // An undecided construct may be part of the word before it.
            if let Some(open) = leaf.open.and_then(|open| pending.get(..open)) {
                limit = limit.min(last_break(open));
            }
            let begins = line_of(pending, leaf.range.start);
            if let Some(head) = head(pending, line).filter(|head| *head >= begins) {
                limit = limit.min(head);
            }
            limit = leaf.outside_code(pending, limit);
        }
        PieceKind::None | PieceKind::Whole => {}
    }
    // White space before a block can be part of it.
    SettledPrefix {
        last: line_of(text, last.min(limit)),
        limit,
        source,
    }
}

/// The last block with text.
#[derive(Debug, Default)]
struct Leaf {
    /// Its code spans, each of which is drawn as a whole.
    codes: Vec<Range<usize>>,
    inline: Vec<usize>,
    kind: PieceKind,
    /// The start of an undecided construct.
    open: Option<usize>,
    range: Range<usize>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum PieceKind {
    Inline,
    /// Line-based text: code and HTML.
    Lines,
    /// A block that cannot grow.
    #[default]
    None,
    Table,
    Whole,
}

impl Leaf {
    /// This limit, or one before the code span that it is in, and before the word that the span is a part of.
    fn outside_code(&self, pending: &str, limit: usize) -> usize {
        self.codes.iter().rev().fold(limit, |limit, code| {
            if code.start < limit && limit < code.end {
                last_break(pending.get(..code.start).unwrap_or_default())
            } else {
                limit
            }
        })
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        if is_inline(tag) {
            self.inline.push(range.start);
            return;
        }
        let kind = match tag {
            Tag::CodeBlock(_) | Tag::HtmlBlock => PieceKind::Lines,
            Tag::Heading { .. } => PieceKind::Whole,
            Tag::Table(_) => PieceKind::Table,
            Tag::TableCell | Tag::TableHead | Tag::TableRow => return,
            Tag::BlockQuote(_)
            | Tag::DefinitionList
            | Tag::DefinitionListDefinition
            | Tag::DefinitionListTitle
            | Tag::Emphasis
            | Tag::FootnoteDefinition(_)
            | Tag::Image { .. }
            | Tag::Item
            | Tag::Link { .. }
            | Tag::List(_)
            | Tag::MetadataBlock(_)
            | Tag::Paragraph
            | Tag::Strikethrough
            | Tag::Strong
            | Tag::Subscript
            | Tag::Superscript => PieceKind::Inline,
        };
        *self = Self {
            kind,
            range: range.clone(),
            ..Self::default()
        };
    }

    fn end(&mut self, tag: TagEnd) {
        if matches!(
            tag,
            TagEnd::Emphasis
                | TagEnd::Image
                | TagEnd::Link
                | TagEnd::Strikethrough
                | TagEnd::Strong
        ) {
            self.inline.pop();
        }
    }

    fn text(&mut self, source: &str, text: &str, range: &Range<usize>) {
        if self.open.is_some() || self.kind != PieceKind::Inline {
            return;
        }
        let found = text.char_indices().find_map(|(at, _)| {
            let at = range.start + at;
            is_open(source, at).then_some(at)
        });
        if let Some(at) = found {
            self.open = Some(self.inline.first().copied().unwrap_or(at));
        }
    }
}

fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Emphasis | Tag::Image { .. } | Tag::Link { .. } | Tag::Strikethrough | Tag::Strong
    )
}

/// Whether a construct may begin here that has not ended.
fn is_open(source: &str, at: usize) -> bool {
    let (before, rest) = (source.get(..at), source.get(at..));
    let (Some(before), Some(rest)) = (before, rest) else {
        return false;
    };
    let mut signs = rest.chars();
    let (sign, next) = (signs.next(), signs.next());
    let slashes = before.len() - before.trim_end_matches('\\').len();
    if slashes % 2 == 1 {
        return false;
    }
    let before = before.chars().next_back();
    let is_before_space = next.is_none_or(char::is_whitespace);
    match sign {
        Some('`' | '~') => true,
        // An escaped line end is possible.
        Some('\\') => next.is_none_or(|next| next == '\n'),
        Some('*') => !is_before_space,
        Some('_') => !is_before_space && !before.is_some_and(char::is_alphanumeric),
        Some('<') => next.is_none_or(|next| next.is_alphabetic() || "/!?".contains(next)),
        Some('!') => next == Some('['),
        Some('[') => !is_bracketed(rest),
        _ => false,
    }
}

/// Whether the bracket is closed, and no address can follow it.
fn is_bracketed(rest: &str) -> bool {
    let mut depth = 0_u32;
    let mut signs = rest.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '\\' => {
                signs.next();
            }
            // Brackets in code are text.
            '`' => {
                let code = rest.get(at..).unwrap_or_default();
                let Some(length) = code_span(code) else {
                    return false;
                };
                while signs.next_if(|(next, _)| *next < at + length).is_some() {}
            }
            _ => {}
        }
        if depth > DEEPEST {
            return true;
        }
        if depth == 0 {
            return !matches!(signs.next(), None | Some((_, '(' | '[' | ':')));
        }
    }
    false
}

/// The length of the code span that begins here, if it has ended.
fn code_span(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches('`');
    let fence = text.len() - rest.len();
    let mut from = fence;
    loop {
        let begin = from + text.get(from..)?.find('`')?;
        let tail = text.get(begin..)?;
        let run = tail.len() - tail.trim_start_matches('`').len();
        if run == fence {
            return Some(begin + run);
        }
        from = begin + run;
    }
}

/// The start of the line of this position.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).and_then(|before| before.rfind('\n'));
    before.map_or(0, |feed| feed + 1)
}

/// The start of a possible table head.
fn head(pending: &str, line: usize) -> Option<usize> {
    let before = pending.get(..line.saturating_sub(1)).unwrap_or_default();
    let start = line_of(before, before.len());
    if line > 0 && before.get(start..).is_some_and(|line| line.contains('|')) {
        Some(start)
    } else {
        let last = pending.get(line..);
        last.is_some_and(|last| last.contains('|')).then_some(line)
    }
}

/// Whether the kind of the last line is undecided.
fn is_undecided(line: &str) -> bool {
    let text = line.trim_start_matches(|c: char| MARKS.contains(c));
    // The markers may be the beginning of a longer one.
    let marks = line.get(..line.len() - text.len()).unwrap_or_default();
    text.is_empty()
        || text.starts_with(['<', '['])
        || marks.contains(['#', '|', '[', '='])
        || marks.contains("```")
        || marks.contains("~~~")
        || marks.ends_with(['`', '~'])
}

/// The position after the last possible line break.
fn last_break(text: &str) -> usize {
    let mut signs = text.char_indices().rev();
    let mut after = None;
    signs
        .find_map(|(at, sign)| {
            let end = at + sign.len_utf8();
            let follows = after.replace(sign);
            let breaks = sign.is_whitespace()
                || (is_ideographic(sign)
                    && follows.is_some_and(|next| {
                        (next.is_alphanumeric() || next == ' ') && !CLOSING.contains(next)
                    }));
            breaks.then_some(end)
        })
        .unwrap_or(0)
}

/// Brackets nested deeper have no address; searching for one would take longer with each level.
const DEEPEST: u32 = 32;

/// The characters that lines of any kind can begin with.
const MARKS: &str = " \t-*_=+#>|:`~0123456789.)[]xX";
