//! How far the text of a reply can be passed on while it streams: up to where a call may begin.

use super::call::OfferedTools;
use super::code_fence::CodeFence;
use super::formats::{self, Start};

/// How far a text is no part of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outlook {
    /// A call may follow from this byte on: the rest is held until the reply ends.
    Held {
        /// The byte.
        at: usize,
        /// Whether the whole reply may be calls in a bare form.
        bare: bool,
    },
    /// Nothing before this byte is part of a call; what follows is not long enough to be judged.
    Open {
        /// The byte.
        at: usize,
    },
}

/// Judges a text that follows text in this code block or none; `first` says whether nothing but blanks is before it in
/// the reply.
///
/// The decision does not depend on how much of the text has arrived: more text only moves the place of
/// [`Outlook::Open`] forward.
pub(super) fn outlook(
    text: &str,
    mut fence: CodeFence,
    first: bool,
    offered: &OfferedTools,
) -> Outlook {
    let start = text.trim_start_matches(BLANKS);
    let lead = text.len() - start.len();
    if first && !start.is_empty() {
        let at = before_blanks(text, lead);
        match formats::bare_start(start, offered) {
            Start::No => {}
            Start::Unknown => return Outlook::Open { at },
            Start::Yes => return Outlook::Held { at, bare: true },
        }
    }
    for (at, c) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        if !fence.is_inside() && matches!(c, '<' | '[') {
            let at = before_blanks(text, at);
            if formats::openers().any(|opener| rest.starts_with(opener)) {
                return Outlook::Held { at, bare: false };
            }
            if formats::openers().any(|opener| opener.starts_with(rest)) {
                return Outlook::Open { at };
            }
        }
        fence.push(c);
    }
    Outlook::Open {
        at: before_blanks(text, text.len()),
    }
}

/// The place before the blanks that end here, which are dropped if a call follows. Only the last few count, so that no
/// more has to be kept.
fn before_blanks(text: &str, end: usize) -> usize {
    let least = end.saturating_sub(MAX_BLANKS);
    let before = text.get(..end).unwrap_or_default();
    let start = before.trim_end_matches(BLANKS).len();
    start.max(least)
}

/// Blanks are of one byte each, so that any number of them ends between characters.
pub(super) const BLANKS: [char; 4] = [' ', '\n', '\r', '\t'];
/// How many blanks before a call are dropped, in bytes.
const MAX_BLANKS: usize = 64;
