//! Markdown as HTML in which nothing runs and nothing is loaded.
//!
//! HTML in the text is shown as text, a link leads only to the web or to a mail address, and a picture is a link.

use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, Parser, Tag, TagEnd, html};

use crate::OPTIONS;
use crate::code;
use crate::formula::{self, Formulas};

/// The HTML of a text in Markdown. The text is what a model wrote, and is trusted in nothing.
#[must_use]
pub fn to_html(text: &str) -> String {
    html_of(text, false)
}

/// The HTML of a text that may grow: a formula that has not ended is shown as it was written.
pub(crate) fn html_of(text: &str, may_grow: bool) -> String {
    let mut formulas = Formulas::find(text, may_grow);
    formula::convert(&mut formulas.found);
    let mut table = Table::default();
    let mut block = CodeBlock::default();
    let events = Parser::new_ext(formulas.text(text), OPTIONS).into_offset_iter();
    let events = events.filter_map(|(event, range)| {
        let event = block.coloured(safe_event(event), text.get(range.clone()))?;
        Some((event, range))
    });
    let events = events.flat_map(|(event, range)| with_formulas(event, range, text, &formulas));
    let events = events.map(|event| table.aligned(event));
    let mut html = String::with_capacity(text.len() * 5 / 4);
    html::push_html(&mut html, events);
    html
}

/// The event without what runs or loads.
fn safe_event(event: Event<'_>) -> Event<'_> {
    match event {
        // The writer escapes a text.
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Event::InlineHtml(opening_tag(&dest_url))
        }
        Event::End(TagEnd::Link | TagEnd::Image) => Event::InlineHtml("</a>".into()),
        Event::TaskListMarker(done) => Event::Text(if done { "☑ " } else { "☐ " }.into()),
        Event::Start(_)
        | Event::End(_)
        | Event::Text(_)
        | Event::Code(_)
        | Event::InlineMath(_)
        | Event::DisplayMath(_)
        | Event::FootnoteReference(_)
        | Event::SoftBreak
        | Event::HardBreak
        | Event::Rule => event,
    }
}

/// The event, with formulas in place of the letters that stand for them.
fn with_formulas<'a>(
    event: Event<'a>,
    range: Range<usize>,
    text: &'a str,
    formulas: &Formulas,
) -> Vec<Event<'a>> {
    let found = formulas.within(&range);
    let words = |range: Range<usize>| text.get(range).unwrap_or_default();
    if found.is_empty() {
        return vec![event];
    }
    // Without the lines of a formula, marks of code around it may be a pair.
    if let Event::Code(_) = event {
        return vec![Event::Text(words(range).into())];
    }
    let is_text = matches!(&event, Event::Text(words) if words.len() == range.len());
    if !is_text {
        return vec![event];
    }
    let (mut events, mut at) = (Vec::new(), range.start);
    for formula in found {
        events.push(Event::Text(words(at..formula.range.start).into()));
        events.push(match &formula.mathml {
            None => Event::Code(words(formula.range.clone()).into()),
            Some(mathml) if formula.is_display => {
                Event::InlineHtml(format!("<span class=\"formula\">{mathml}</span>").into())
            }
            Some(mathml) => Event::InlineHtml(mathml.clone().into()),
        });
        at = formula.range.end;
    }
    events.push(Event::Text(words(at..range.end).into()));
    events
}

/// The block of code that is read.
#[derive(Default)]
struct CodeBlock {
    code: String,
    /// What stands behind its fence.
    info: Option<String>,
}

impl CodeBlock {
    /// The event; the texts of a block come as one, coloured, at its end. `written` is what the event was made of.
    fn coloured<'a>(&mut self, event: Event<'a>, written: Option<&str>) -> Option<Event<'a>> {
        match (&mut self.info, event) {
            (info, Event::Start(Tag::CodeBlock(kind))) => {
                *info = Some(match &kind {
                    CodeBlockKind::Fenced(fence) => fence.to_string(),
                    CodeBlockKind::Indented => String::new(),
                });
                Some(Event::Start(Tag::CodeBlock(kind)))
            }
            (Some(_), Event::Text(text)) => {
                let written = written.filter(|written| written.len() == text.len());
                self.code.push_str(written.unwrap_or(&text));
                None
            }
            (info @ Some(_), Event::End(TagEnd::CodeBlock)) => {
                let mut html = String::with_capacity(self.code.len() * 2);
                code::push_html(&mut html, &self.code, &info.take().unwrap_or_default());
                self.code.clear();
                html.push_str("</code></pre>\n");
                Some(Event::Html(html.into()))
            }
            (_, event) => Some(event),
        }
    }
}

/// The place in a table. The writer would align columns with a style, which the policy of the page refuses, so they
/// get a class.
#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    column: usize,
    is_head: bool,
}

impl Table {
    /// The event; the tag of a cell has the class of its column.
    fn aligned<'a>(&mut self, event: Event<'a>) -> Event<'a> {
        match &event {
            Event::Start(Tag::Table(alignments)) => {
                self.alignments.clone_from(alignments);
                let none = alignments.iter().map(|_| Alignment::None);
                Event::Start(Tag::Table(none.collect()))
            }
            Event::Start(tag @ (Tag::TableHead | Tag::TableRow)) => {
                (self.column, self.is_head) = (0, *tag == Tag::TableHead);
                event
            }
            Event::Start(Tag::TableCell) => {
                let alignment = self.alignments.get(self.column);
                self.column += 1;
                let class = match alignment {
                    Some(Alignment::Center) => "center",
                    Some(Alignment::Right) => "right",
                    Some(Alignment::Left | Alignment::None) | None => return event,
                };
                let cell = if self.is_head { "th" } else { "td" };
                Event::InlineHtml(format!("<{cell} class=\"{class}\">").into())
            }
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => event,
        }
    }
}

/// The tag that opens a link; without a target, unless its scheme is one of [`SCHEMES`].
fn opening_tag(target: &str) -> CowStr<'static> {
    let is_safe = SCHEMES.iter().any(|scheme| {
        let start = target.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    if !is_safe {
        return "<a>".into();
    }
    let mut tag = "<a rel=\"noopener noreferrer nofollow\" target=\"_blank\" href=\"".to_owned();
    for letter in target.chars() {
        match letter {
            '"' => tag.push_str("%22"),
            '&' => tag.push_str("&amp;"),
            '<' => tag.push_str("%3C"),
            '>' => tag.push_str("%3E"),
            '\'' => tag.push_str("%27"),
            letter if letter.is_control() => {}
            letter => tag.push(letter),
        }
    }
    tag.push_str("\">");
    tag.into()
}

/// What a target may begin with. A relative one would be a link into the page.
const SCHEMES: &[&str] = &["http://", "https://", "mailto:"];
