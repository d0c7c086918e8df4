//! A piece of Markdown, drawn as far as it can be.

use std::ops::Range;

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::flow::{Flow, Gap};
use super::table::MarkdownTable;
use crate::render::plain::{DIM, NAME};
use crate::render::words;

/// What is understood beside CommonMark.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// Draws the source up to here; `whole` says that nothing will be added to it.
pub(super) fn draw(flow: Flow, source: &str, limit: usize, whole: bool) -> String {
    let mut drawing = Drawing {
        bold: 0,
        code: None,
        flow,
        fresh: false,
        heading: None,
        italic: 0,
        links: Vec::new(),
        lists: Vec::new(),
        quotes: 0,
        source,
        struck: 0,
        table: None,
        whole,
    };
    let parser = Parser::new_ext(source, OPTIONS);
    for (event, range) in parser.into_offset_iter() {
        if range.start >= limit && !matches!(event, Event::End(_)) {
            return drawing.flow.finish();
        }
        // The address behind a link is a part of the word that may go on behind the limit.
        if matches!(event, Event::End(TagEnd::Link | TagEnd::Image)) && range.end > limit {
            return drawing.flow.finish();
        }
        let cut = matches!(event, Event::Text(_)) && range.end > limit;
        drawing.event(event, &range, limit);
        if cut {
            return drawing.flow.finish();
        }
    }
    drawing.flow.finish()
}

struct Drawing<'s> {
    bold: u32,
    /// The style of the code block, if this is one.
    code: Option<Style>,
    flow: Flow,
    /// Whether an item or a quote has just begun.
    fresh: bool,
    heading: Option<Style>,
    italic: u32,
    links: Vec<Link>,
    /// The next number of each list, if it has numbers.
    lists: Vec<Option<u64>>,
    quotes: u32,
    source: &'s str,
    struck: u32,
    table: Option<MarkdownTable>,
    whole: bool,
}

struct Link {
    address: String,
    text: String,
}

impl Drawing<'_> {
    fn event(&mut self, event: Event<'_>, range: &Range<usize>, limit: usize) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => {
                let shown = limit.saturating_sub(range.start);
                let text = match text.get(..shown) {
                    Some(text) if range.end > limit => text,
                    _ => &*text,
                };
                self.text(&unmasked(text));
            }
            Event::Code(code) => self.code_span(&unmasked(&code)),
            Event::Html(text) => {
                for line in unmasked(&text).lines() {
                    self.flow.line(Style::new(), &words::printable(line));
                }
            }
            Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&unmasked(&text)),
            Event::SoftBreak | Event::HardBreak => match &mut self.table {
                Some(table) => table.text(" "),
                None => self.flow.part(Gap::Line),
            },
            Event::Rule => {
                self.block(range);
                self.rule();
            }
            Event::TaskListMarker(done) => {
                self.flow.text(DIM, if done { "[x] " } else { "[ ] " });
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(range),
            Tag::Heading { level, .. } => {
                self.block(range);
                // Whatever has its line below it is text above a line: it was shown before the line came.
                if self.is_marked(range) {
                    self.heading = Some(match level {
                        HeadingLevel::H1 => NAME.underline(),
                        HeadingLevel::H2
                        | HeadingLevel::H3
                        | HeadingLevel::H4
                        | HeadingLevel::H5
                        | HeadingLevel::H6 => NAME,
                    });
                    if !self.flow.is_styled() {
                        let marks = "#".repeat(level as usize);
                        self.flow.text(Style::new(), &format!("{marks} "));
                    }
                }
            }
            Tag::BlockQuote(_) => {
                self.block(range);
                self.flow.indent(DIM, "│ ", "│ ");
                (self.fresh, self.quotes) = (true, self.quotes + 1);
            }
            Tag::CodeBlock(kind) => {
                self.block(range);
                self.code = Some(CODE);
                if let CodeBlockKind::Fenced(language) = kind {
                    let line = format!("```{}", words::printable(&language));
                    self.flow.line(DIM, &line);
                }
            }
            Tag::List(first) => {
                self.block(range);
                self.lists.push(first);
                // The list itself was parted from what is before it.
                self.fresh = true;
            }
            Tag::Item => {
                self.block(range);
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let bullet = format!("{number}. ");
                        *number = number.saturating_add(1);
                        bullet
                    }
                    Some(None) | None => "• ".to_owned(),
                };
                let rest = " ".repeat(bullet.chars().count());
                self.flow.indent(DIM, &bullet, &rest);
                self.fresh = true;
            }
            Tag::Table(alignments) => {
                self.block(range);
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::TableCell => {
                if let Some(table) = &mut self.table {
                    table.begin_cell();
                }
            }
            Tag::Emphasis => self.italic += 1,
            Tag::Strong => self.bold += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Link { dest_url, .. } => self.links.push(Link {
                address: dest_url.to_string(),
                text: String::new(),
            }),
            Tag::Image { dest_url, .. } => {
                self.links.push(Link {
                    address: dest_url.to_string(),
                    text: String::new(),
                });
                self.text("image: ");
            }
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::FootnoteDefinition(_)
            | Tag::MetadataBlock(_)
            | Tag::Subscript
            | Tag::Superscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flow.part(Gap::Line),
            TagEnd::Heading(_) => {
                self.flow.part(Gap::Line);
                if self.heading.take().is_none() {
                    self.rule();
                }
            }
            TagEnd::BlockQuote(_) => {
                self.outdent(range);
                self.quotes = self.quotes.saturating_sub(1);
                self.flow.part(Gap::Line);
            }
            TagEnd::CodeBlock => {
                self.code = None;
                let block = self.source.get(range.clone()).unwrap_or_default();
                let rest = self.source.get(range.end..).unwrap_or_default();
                let ended = self.whole || !rest.trim().is_empty();
                if is_fenced(block) && ended {
                    self.flow.line(DIM, "```");
                }
            }
            TagEnd::Item => self.outdent(range),
            TagEnd::List(_) => {
                self.lists.pop();
                self.flow.part(Gap::Line);
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.draw(&mut self.flow);
                }
            }
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => {
                let Some(Link { address, text }) = self.links.pop() else {
                    return;
                };
                let bare = address.strip_prefix("mailto:").unwrap_or(&address);
                if !bare.is_empty() && text.trim() != bare {
                    self.text(&format!(" ({address})"));
                }
            }
            TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::FootnoteDefinition
            | TagEnd::MetadataBlock(_)
            | TagEnd::Subscript
            | TagEnd::Superscript
            | TagEnd::TableCell
            | TagEnd::TableHead
            | TagEnd::TableRow => {}
        }
    }

    /// Ends an item or a quote; one that has nothing in it has its mark all the same, but not before it
    /// is known that nothing comes.
    fn outdent(&mut self, range: &Range<usize>) {
        let ended = self.whole || range.end < self.source.len();
        self.flow.outdent(ended);
        self.fresh = false;
    }

    fn block(&mut self, range: &Range<usize>) {
        let gap = self.gap(range);
        self.flow.part(gap);
    }

    fn text(&mut self, text: &str) {
        self.fresh = false;
        if let Some(link) = self.links.last_mut() {
            link.text.push_str(text);
        }
        if let Some(style) = self.code {
            for line in text.lines() {
                self.flow.line(style, &words::printable(line));
            }
        } else if let Some(table) = &mut self.table {
            table.text(&words::printable(text));
        } else {
            self.flow.text(self.style(), text);
        }
    }

    fn code_span(&mut self, code: &str) {
        self.fresh = false;
        if let Some(link) = self.links.last_mut() {
            link.text.push_str(code);
        }
        let marked = if self.flow.is_styled() && self.table.is_none() {
            code.to_owned()
        } else {
            format!("`{code}`")
        };
        match &mut self.table {
            Some(table) => table.text(&words::printable(&marked)),
            // Two spaces in a row mean something.
            None if code.contains("  ") => self.flow.glue(CODE, &words::printable(&marked)),
            None => self.flow.text(CODE, &marked),
        }
    }

    fn style(&self) -> Style {
        let mut style = self.heading.unwrap_or_default();
        if self.bold > 0 {
            style = style.bold();
        }
        if self.italic > 0 {
            style = style.italic();
        }
        if self.struck > 0 {
            style = style.strikethrough();
        }
        if !self.links.is_empty() {
            style = style.underline();
        }
        style
    }

    fn rule(&mut self) {
        let rule = "─".repeat(self.flow.room().min(RULE));
        self.flow.line(DIM, &rule);
    }

    /// What parts a block from what is before it; never changed by what comes later.
    fn gap(&mut self, range: &Range<usize>) -> Gap {
        if std::mem::take(&mut self.fresh) {
            // The first block of an item or a quote stands behind its mark.
            Gap::None
        } else if (self.lists.is_empty() && self.quotes == 0)
            || is_after_blank(self.source, range.start)
        {
            Gap::Blank
        } else {
            Gap::Line
        }
    }

    /// Whether a heading has its marks before it.
    fn is_marked(&self, range: &Range<usize>) -> bool {
        let block = self.source.get(range.clone()).unwrap_or_default();
        block.trim_start().starts_with('#')
    }
}

/// Hides from the parser what changes how something looks that was said long before: definitions of
/// addresses, `[name]: address`, which are not shown themselves, and bars of tables in lines that do not
/// begin with one.
pub(super) fn masked(source: &str) -> String {
    let mut masked = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let text = line.trim_start_matches(|c: char| " \t>-*+.)".contains(c) || c.is_ascii_digit());
        let (marks, text) = line.split_at(line.len() - text.len());
        masked.push_str(marks);
        match text.strip_prefix('[') {
            Some(rest) if rest.contains("]:") => {
                masked.push(MASK);
                masked.push_str(rest);
            }
            Some(_) | None if text.starts_with('|') => masked.push_str(text),
            Some(_) | None => masked.extend(text.chars().map(|c| if c == '|' { BAR } else { c })),
        }
    }
    masked
}

fn unmasked(text: &str) -> String {
    text.replace(MASK, "[").replace(BAR, "|")
}

/// Whether the line before a block is empty.
pub(super) fn is_after_blank(source: &str, start: usize) -> bool {
    let before = source.get(..start).unwrap_or_default();
    let mut lines = before.rsplit('\n').skip(1);
    lines
        .next()
        .is_some_and(|line| line.trim_matches([' ', '\t', '>']).is_empty())
}

/// Whether a code block has fences.
fn is_fenced(block: &str) -> bool {
    let block = block.trim_start();
    block.starts_with("```") || block.starts_with("~~~")
}

/// Code, wherever it stands.
const CODE: Style = AnsiColor::Cyan.on_default();

/// Stands for `|`, like [`MASK`].
const BAR: char = '\u{2}';

/// Stands for `[`; as long as that, and in no text that is shown.
const MASK: char = '\u{1}';

/// The longest line across.
const RULE: usize = 40;
