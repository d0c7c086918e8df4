//! Markdown as HTML in which nothing runs and nothing is loaded.
//!
//! HTML in the text is shown as text, a link leads only to the web or to a mail address, and a picture is a link.

use pulldown_cmark::{Alignment, CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// The HTML of a text in Markdown. The text is what a model wrote, and is trusted in nothing.
#[must_use]
pub fn to_html(text: &str) -> String {
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(safe_event);
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
        // The writer would align with a style, which the policy of the page refuses.
        Event::Start(Tag::Table(columns)) => {
            let columns = columns.iter().map(|_| Alignment::None);
            Event::Start(Tag::Table(columns.collect()))
        }
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
