//! Renders a piece of Markdown as far as it is settled.

use std::ops::Range;

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::flow::{Flow, Gap};
use super::table::MarkdownTable;
use crate::render::plain::{DIM, NAME};
use crate::render::words;

/// The supported extensions of CommonMark.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// Renders the source up to the limit; `whole` says that nothing will be added to it.
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
        // The address after a link is part of the word, which may continue after the limit.
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
    /// The style of the code block, inside of one.
    code: Option<Style>,
    flow: Flow,
    /// Whether an item or a quote has just begun.
    fresh: bool,
    heading: Option<Style>,
    italic: u32,
    links: Vec<Link>,
    /// The next number of each list; `None` for bullets.
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
                // A heading underlined by the next line was shown as a paragraph before that line arrived.
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
                // The gap before the list applies to its first item.
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

    /// Ends an item or a quote. An empty one gets its marker, too, but only once it is certain to be empty.
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
            // Double spaces are significant in code.
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

    /// The gap before a block; later text never changes it.
    fn gap(&mut self, range: &Range<usize>) -> Gap {
        if std::mem::take(&mut self.fresh) {
            // The first block of an item or a quote follows its marker.
            Gap::None
        } else if (self.lists.is_empty() && self.quotes == 0)
            || is_after_blank(self.source, range.start)
        {
            Gap::Blank
        } else {
            Gap::Line
        }
    }

    /// Whether a heading begins with `#` marks.
    fn is_marked(&self, range: &Range<usize>) -> bool {
        let block = self.source.get(range.clone()).unwrap_or_default();
        block.trim_start().starts_with('#')
    }
}

/// Hides from the parser what would change the look of earlier text: link reference definitions, `[name]:
/// address`, which are not shown themselves, and table bars in lines that do not begin with one.
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

const CODE: Style = AnsiColor::Cyan.on_default();

/// Stands for `|`, like [`MASK`].
const BAR: char = '\u{2}';

/// Stands for `[`: it has the same length, and occurs in no shown text.
const MASK: char = '\u{1}';

/// The maximum length of a horizontal rule.
const RULE: usize = 40;
