//! Markdown that does nothing when it is shown: no picture is fetched, no HTML holds, and links lead where
//! links of pages lead.
//!
//! Whoever wrote into a conversation would otherwise learn that it is read, and by whom.

use pulldown_cmark::{Event, Options, Parser, Tag};

/// The page with a backslash before everything in it that would do something. Code stays as it is.
pub(super) fn inert(mut page: String) -> String {
    // What is taken away from one thing may make another one of what was within.
    for _ in 0..ROUNDS {
        let live = live(&page);
        if live.is_empty() {
            return page;
        }
        page = escaped(&page, |place, _| live.binary_search(&place).is_ok());
    }
    escaped(&page, |_, c| matches!(c, '!' | '<' | '['))
}

/// Where in the page something begins that would do something, in order.
fn live(page: &str) -> Vec<usize> {
    let mut live = Vec::new();
    for (event, range) in Parser::new_ext(page, Options::ENABLE_GFM).into_offset_iter() {
        match event {
            Event::Start(Tag::Image { .. }) => live.push(range.start),
            Event::Start(Tag::Link { dest_url, .. }) if !is_of_a_page(&dest_url) => {
                live.push(range.start);
            }
            Event::Html(_) | Event::InlineHtml(_) => {
                let html = page.get(range.clone()).unwrap_or_default();
                let tags = html.match_indices('<');
                live.extend(tags.map(|(place, _)| range.start + place));
            }
            Event::Code(_)
            | Event::DisplayMath(_)
            | Event::End(_)
            | Event::FootnoteReference(_)
            | Event::HardBreak
            | Event::InlineMath(_)
            | Event::Rule
            | Event::SoftBreak
            | Event::Start(_)
            | Event::TaskListMarker(_)
            | Event::Text(_) => {}
        }
    }
    live.sort_unstable();
    live.dedup();
    live
}

/// Whether a link leads where links of pages lead: elsewhere on the web, to a letter, or within the page.
fn is_of_a_page(target: &str) -> bool {
    let target: String = target
        .chars()
        .filter(|c| !c.is_whitespace() && !c.is_control())
        .collect();
    let before = target.split(['/', '?', '#']).next().unwrap_or_default();
    let scheme = before.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_none_or(|scheme| {
        let known = ["http", "https", "mailto"];
        known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

fn escaped(page: &str, is_live: impl Fn(usize, char) -> bool) -> String {
    let mut safe = String::with_capacity(page.len() + 16);
    for (place, c) in page.char_indices() {
        if is_live(place, c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// How often it is looked for more.
const ROUNDS: usize = 16;
