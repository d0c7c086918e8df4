//! Blocks of a reply that were not written completely.

use std::sync::Arc;

use jackfield_domain::delta::BlockStart;
use jackfield_domain::opaque::OpaqueState;
use serde_json::Value;

use super::chunks::{call_delta, text_delta};
use crate::chat::wire;

/// The form in which a block is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// The number of the call.
    Call(u32),
    Other,
    Refusal,
    Text,
    Thinking,
}

/// A block that was not written completely.
#[derive(Debug)]
pub(super) struct PendingBlock {
    pub(super) call: Option<String>,
    pub(super) ended: bool,
    /// The block's index in the domain.
    pub(super) index: u32,
    /// The text, in the fragments received.
    pub(super) pieces: Vec<Arc<str>>,
    /// The annotations on the text.
    pub(super) annotations: Vec<Value>,
    pub(super) start: BlockStart,
    pub(super) states: Vec<OpaqueState>,
    /// Whether the state for its server was written.
    pub(super) state_written: bool,
    /// The form in which its start was written.
    pub(super) written_as: Option<Kind>,
}

impl PendingBlock {
    /// Whether there is anything to write.
    pub(super) fn has_text(&self) -> bool {
        let mut texts = self.pieces.iter();
        match self.start {
            BlockStart::Text => texts.any(|text| !text.trim().is_empty()),
            BlockStart::ToolCall { json: true, .. } => texts.any(|text| !text.trim().is_empty()),
            BlockStart::Refusal
            | BlockStart::Thinking { .. }
            | BlockStart::ToolCall { json: false, .. }
            | BlockStart::Whole(_) => texts.next().is_some(),
        }
    }
}

pub(super) fn fragment_delta(kind: Kind, start: &BlockStart, text: &str) -> Option<wire::Delta> {
    let text = text.to_owned();
    Some(match kind {
        Kind::Call(index) => {
            let mut wire_call = wire::ToolCall {
                index: Some(index),
                ..wire::ToolCall::default()
            };
            if matches!(start, BlockStart::ToolCall { json: false, .. }) {
                wire_call.custom = Some(wire::CustomCall {
                    name: None,
                    input: text,
                });
            } else {
                wire_call.function = Some(wire::FunctionCall {
                    name: None,
                    arguments: Value::String(text),
                });
            }
            call_delta(wire_call)
        }
        Kind::Other => return None,
        Kind::Refusal => wire::Delta {
            refusal: Some(text),
            ..wire::Delta::default()
        },
        Kind::Text => text_delta(text),
        Kind::Thinking => wire::Delta {
            reasoning_content: Some(text),
            ..wire::Delta::default()
        },
    })
}
