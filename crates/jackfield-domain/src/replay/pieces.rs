//! Rebuilds the deltas of a recorded reply, or of the stored part of one.

use crate::accumulator::{ProtocolViolation, ReplyAccumulator};
use crate::block::Content;
use crate::delta::{BlockStart, Delta};
use crate::estimate;
use crate::message::Message;
use crate::tool_input::ToolInput;
use crate::usage::Usage;

/// The deltas of a complete reply.
pub(super) fn complete_reply(message: &Message) -> Vec<Delta> {
    let mut pieces = Vec::new();
    for (index, block) in (0..).zip(&message.blocks) {
        let (start, rest) = match &block.content {
            Content::Refusal(text) => (BlockStart::Refusal, text_deltas(index, text)),
            Content::Text(text) => {
                let mut rest = text_deltas(index, &text.text);
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
                    text_deltas(index, &thinking.text),
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
pub(super) fn partial_reply(
    text: Option<&Message>,
    usage: Option<Usage>,
    is_visible: bool,
    tail: &[Delta],
) -> Vec<Delta> {
    let mut pieces = text.map(complete_reply).unwrap_or_default();
    let units: usize = pieces.iter().chain(tail).map(Delta::units).sum();
    let tokens = usage.map_or(0, |usage| usage.estimated_output);
    let more = if estimate::tokens(units) < tokens {
        estimate::bytes(tokens).saturating_sub(units)
    } else {
        0
    };
    let more = more.min(ReplyAccumulator::MAX_UNITS.saturating_sub(units));
    let index = u32::MAX;
    let ended = Delta::BlockEnded { index };
    let has_text = !pieces.is_empty();
    if is_visible && (more > 0 || !has_text) {
        let text = "x".repeat(more.saturating_sub(2).max(1)).into();
        let redacted = false;
        let start = BlockStart::Thinking { redacted };
        pieces.push(Delta::BlockStarted { index, start });
        pieces.push(Delta::TextAppended { index, text });
        pieces.push(ended);
    } else if !is_visible {
        for _ in 0..more.min(MAX_UNSEEN) / 2 {
            pieces.push(block_started(index));
            pieces.push(ended.clone());
        }
    }
    pieces.extend_from_slice(tail);
    pieces
}

/// The deltas that leave the block open that this error message names.
pub(super) fn unended_block(message: &str) -> Vec<Delta> {
    let index = block_index(message);
    vec![block_started(index)]
}

/// The deltas before the one that caused this error message, and that one.
pub(super) fn violating_deltas(message: &str) -> (Vec<Delta>, Delta) {
    let index = block_index(message);
    let text = "".into();
    let wrong = Delta::ArgumentsAppended { index, text };
    let is_violation = |violation: ProtocolViolation| message.ends_with(&violation.to_string());
    if is_violation(ProtocolViolation::AlreadyOpen { index }) {
        (vec![block_started(index)], block_started(index))
    } else if is_violation(ProtocolViolation::WrongKind { index }) {
        (vec![block_started(index)], wrong)
    } else if is_violation(ProtocolViolation::TooLong) {
        let text = "x".repeat(ReplyAccumulator::MAX_UNITS + 1).into();
        (Vec::new(), Delta::TextAppended { index: 0, text })
    } else {
        (Vec::new(), Delta::BlockEnded { index })
    }
}

fn block_started(index: u32) -> Delta {
    let start = BlockStart::Text;
    Delta::BlockStarted { index, start }
}

fn text_deltas(index: u32, text: &str) -> Vec<Delta> {
    let text = text.into();
    vec![Delta::TextAppended { index, text }]
}

/// The block index in an error message about a violated rule.
fn block_index(message: &str) -> u32 {
    let after = message.split("block ").nth(1).unwrap_or_default();
    let digits = after.split(|c: char| !c.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_default()
}

/// The maximum amount of filler without visible content, in units.
const MAX_UNSEEN: usize = 1 << 12;
