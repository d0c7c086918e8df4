//! The text of a reply, cut into calls and what stands around them.

use super::call::{OfferedTools, TextCall};
use super::code_fence::CodeFence;
use super::formats::{self, FoundCalls};
use super::quoted::QuotedTexts;

/// A part of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Segment<'t> {
    /// A call.
    Call(TextCall),
    /// Text, without the blanks next to calls; blank only if there is nothing else.
    Text(&'t str),
}

/// A text in parts.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Segments<'t> {
    /// Whether the model went on with a result of its own invention, which is left out with all that follows.
    pub(super) has_invented_result: bool,
    /// Whether a call was left as text, because it stands in the conversation.
    pub(super) has_quotation: bool,
    pub(super) parts: Vec<Segment<'t>>,
}

impl Segments<'_> {
    /// Whether there is a call.
    pub(super) fn has_calls(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, Segment::Call(_)))
    }

    /// Whether nothing stands behind the last call.
    pub(super) fn ends_in_call(&self) -> bool {
        !self.has_invented_result && matches!(self.parts.last(), Some(Segment::Call(_)))
    }

    /// Whether there are only blanks.
    pub(super) fn is_blank(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| matches!(part, Segment::Text(text) if text.trim().is_empty()))
    }
}

/// Cuts a text; one part if it has no call. `bare` says whether it may be calls in a bare form.
pub(super) fn cut<'t>(
    text: &'t str,
    bare: bool,
    offered: &OfferedTools,
    quoted: &QuotedTexts,
) -> Segments<'t> {
    let mut segments = Segments::default();
    if bare && let Some(calls) = formats::read_bare(text, offered) {
        segments.has_quotation = quoted.has(text);
        segments.parts = if segments.has_quotation {
            vec![Segment::Text(text)]
        } else {
            calls.into_iter().map(Segment::Call).collect()
        };
        return segments;
    }
    let mut failures = 0;
    let mut fence = CodeFence::default();
    // The text since the last call, and the place in it that is looked at.
    let (mut since, mut place) = (text, 0);
    while let Some(rest) = since.get(place..).filter(|rest| !rest.is_empty()) {
        if !fence.is_inside() {
            if segments.has_calls() && rest.starts_with(RESULT) {
                segments.has_invented_result = true;
                push_text(
                    &mut segments,
                    since.get(..place).unwrap_or_default().trim_end(),
                );
                return segments;
            }
            let is_bounded = failures < MAX_FAILURES && segments.parts.len() < MAX_PARTS;
            let found = is_bounded.then(|| calls_at(rest, offered));
            if let Some(Reading::Failed) = found {
                failures += 1;
            }
            if let Some(Reading::Found(FoundCalls { calls, rest: after })) = found {
                let (call, _) = rest.split_at(rest.len() - after.len());
                if quoted.has(call) {
                    segments.has_quotation = true;
                    failures += 1;
                    fence.push_str(call);
                    place += call.len();
                    continue;
                }
                let before = since.get(..place).unwrap_or_default();
                push_text(&mut segments, before.trim_end());
                segments.parts.extend(calls.into_iter().map(Segment::Call));
                fence = CodeFence::default();
                (since, place) = (after, 0);
                continue;
            }
        }
        let next = rest.chars().next().unwrap_or_default();
        fence.push(next);
        place += next.len_utf8();
    }
    push_text(&mut segments, since);
    segments
}

/// What is at one place of a text.
enum Reading<'t> {
    /// An opener, and no call that is complete.
    Failed,
    /// Calls.
    Found(FoundCalls<'t>),
    /// No opener.
    Nothing,
}

fn calls_at<'t>(text: &'t str, offered: &OfferedTools) -> Reading<'t> {
    let mut reading = Reading::Nothing;
    if !text.starts_with(['<', '[']) {
        return reading;
    }
    for format in formats::MARKED {
        let mut openers = format.openers.iter();
        if openers.any(|opener| text.starts_with(opener)) {
            match (format.read)(text, offered) {
                Some(found) => return Reading::Found(found),
                None => reading = Reading::Failed,
            }
        }
    }
    reading
}

/// Adds text, which loses the blanks at its beginning if it follows a call.
fn push_text<'t>(segments: &mut Segments<'t>, text: &'t str) {
    let text = if segments.parts.is_empty() {
        text
    } else {
        text.trim_start()
    };
    if !text.is_empty() {
        segments.parts.push(Segment::Text(text));
    }
}

/// What results begin with in the prompt.
const RESULT: &str = "<tool_response>";
/// How many openers without a call are looked at. Each may be looked for its end in all of the text, and a quotation in
/// all of the conversation.
const MAX_FAILURES: u32 = 32;
/// How many calls, and texts around them, are read before the rest is left as text: each call is looked for in the
/// conversation.
const MAX_PARTS: usize = 256;
