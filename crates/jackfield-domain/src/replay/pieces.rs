//! Rebuilds the deltas of a recorded reply, or of the stored part of one.

use crate::accumulator::{ProtocolViolation, ReplyAccumulator};
use crate::block::Content;
use crate::delta::{BlockStart, Delta};
use crate::estimate;
use crate::message::Message;
use crate::tool_input::ToolInput;
use crate::usage::Usage;

/// The deltas of a complete reply.
pub(super) fn of_whole(message: &Message) -> Vec<Delta> {
    let mut pieces = Vec::new();
    for (index, block) in (0..).zip(&message.blocks) {
        let (start, rest) = match &block.content {
            Content::Refusal(text) => (BlockStart::Refusal, said(index, text)),
            Content::Text(text) => {
                let mut rest = said(index, &text.text);
                let annotations = text.annotations.iter().cloned();
                rest.extend(
                    annotations.map(|annotation| Delta::AnnotationAdded { index, annotation }),
                );
                (BlockStart::Text, rest)
            }
            Content::Thinking(thinking) => {
                let redacted = thinking.redacted;
                (
                    BlockStart::Thinking { redacted },
                    said(index, &thinking.text),
                )
            }
            Content::ToolCall(call) => {
                let (json, text) = match &call.input {
                    ToolInput::Json(input) => (true, input.raw()),
                    ToolInput::Text(text) => (false, &**text),
                };
                let start = BlockStart::ToolCall {
                    json,
                    name: call.name.as_str().into(),
                    ran_by: call.ran_by,
                    upstream: call.upstream.clone(),
                };
                let text = text.into();
                (start, vec![Delta::ArgumentsAppended { index, text }])
            }
            whole @ (Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::ToolOutcome(_)) => (BlockStart::Whole(whole.clone()), Vec::new()),
        };
        pieces.push(Delta::BlockStarted { index, start });
        pieces.extend(rest);
        let states = block.opaque.iter().cloned();
        pieces.extend(states.map(|state| Delta::StateSet { index, state }));
        pieces.push(Delta::BlockEnded { index });
    }
    pieces
}

/// The deltas of an interrupted reply whose text was stored, given its usage.
///
/// Content that was not stored is replaced by a filler of the estimated length, visible or not according to
/// `seen`.
pub(super) fn of_partial(
    text: Option<&Message>,
    heard: Option<Usage>,
    seen: bool,
    then: &[Delta],
) -> Vec<Delta> {
    let mut pieces = text.map(of_whole).unwrap_or_default();
    let units: usize = pieces.iter().chain(then).map(Delta::units).sum();
    let tokens = heard.map_or(0, |usage| usage.estimated_output);
    let more = if estimate::tokens(units) < tokens {
        estimate::bytes(tokens).saturating_sub(units)
    } else {
        0
    };
    let more = more.min(ReplyAccumulator::MAX_UNITS.saturating_sub(units));
    let index = u32::MAX;
    let ended = Delta::BlockEnded { index };
    let has_text = !pieces.is_empty();
    if seen && (more > 0 || !has_text) {
        let text = "x".repeat(more.saturating_sub(2).max(1)).into();
        let redacted = false;
        let start = BlockStart::Thinking { redacted };
        pieces.push(Delta::BlockStarted { index, start });
        pieces.push(Delta::TextAppended { index, text });
        pieces.push(ended);
    } else if !seen {
        for _ in 0..more.min(MOST_UNSEEN) / 2 {
            pieces.push(begun(index));
            pieces.push(ended.clone());
        }
    }
    pieces.extend_from_slice(then);
    pieces
}

/// The deltas that leave the block open that this error message names.
pub(super) fn left_open(message: &str) -> Vec<Delta> {
    let index = number_in(message);
    vec![begun(index)]
}

/// The deltas before the one that caused this error message, and that one.
pub(super) fn that_break(message: &str) -> (Vec<Delta>, Delta) {
    let index = number_in(message);
    let text = "".into();
    let wrong = Delta::ArgumentsAppended { index, text };
    let says = |violation: ProtocolViolation| message.ends_with(&violation.to_string());
    if says(ProtocolViolation::AlreadyOpen { index }) {
        (vec![begun(index)], begun(index))
    } else if says(ProtocolViolation::WrongKind { index }) {
        (vec![begun(index)], wrong)
    } else if says(ProtocolViolation::TooLong) {
        let text = "x".repeat(ReplyAccumulator::MAX_UNITS + 1).into();
        (Vec::new(), Delta::TextAppended { index: 0, text })
    } else {
        (Vec::new(), Delta::BlockEnded { index })
    }
}

fn begun(index: u32) -> Delta {
    let start = BlockStart::Text;
    Delta::BlockStarted { index, start }
}

fn said(index: u32, text: &str) -> Vec<Delta> {
    let text = text.into();
    vec![Delta::TextAppended { index, text }]
}

/// The block index in an error message about a violated rule.
fn number_in(message: &str) -> u32 {
    let after = message.split("block ").nth(1).unwrap_or_default();
    let digits = after.split(|c: char| !c.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_default()
}

/// The maximum amount of filler without visible content, in units.
const MOST_UNSEEN: usize = 1 << 12;
