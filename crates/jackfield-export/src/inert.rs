//! Makes Markdown inert: no image is fetched, HTML has no effect, and links only have the usual schemes of web
//! pages.
//!
//! Otherwise, the author of a text in the conversation could learn that it is read, and by which reader.

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Escapes everything active in a page with backslashes. Code stays as it is.
pub(super) fn neutralize(mut page: String) -> String {
    // Escaping one construct may activate another one inside of it, so this repeats.
    for _ in 0..ROUNDS {
        let live = active_markup(&page);
        if live.is_empty() {
            return page;
        }
        page = escaped(&page, |place, _| live.binary_search(&place).is_ok());
    }
    escaped(&page, |_, c| matches!(c, '!' | '<' | '['))
}

/// The positions of active constructs in the page, in order.
fn active_markup(page: &str) -> Vec<usize> {
    let mut live = Vec::new();
    for (event, range) in Parser::new_ext(page, Options::ENABLE_GFM).into_offset_iter() {
        match event {
            Event::Start(Tag::Image { .. }) => live.push(range.start),
            Event::Start(Tag::Link { dest_url, .. }) if !is_safe_link(&dest_url) => {
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

/// Whether a link target is usual on web pages: a web address, an email address, or a place within the page.
fn is_safe_link(target: &str) -> bool {
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

/// The maximum number of passes.
const ROUNDS: usize = 16;
