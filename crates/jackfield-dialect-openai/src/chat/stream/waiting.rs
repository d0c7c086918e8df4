//! Blocks of a reply that were not written completely.

use std::sync::Arc;

use jackfield_domain::delta::BlockStart;
use jackfield_domain::opaque::OpaqueState;
use serde_json::Value;

use super::chunks::{calling, words};
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
pub(super) struct Waiting {
    pub(super) call: Option<String>,
    pub(super) ended: bool,
    /// The block's index in the domain.
    pub(super) index: u32,
    /// The text, in the fragments received.
    pub(super) pieces: Vec<Arc<str>>,
    /// The annotations on the text.
    pub(super) remarks: Vec<Value>,
    pub(super) start: BlockStart,
    pub(super) states: Vec<OpaqueState>,
    /// Whether the state for its server was written.
    pub(super) state_told: bool,
    /// The form in which its start was written.
    pub(super) told: Option<Kind>,
}

impl Waiting {
    /// Whether there is anything to write.
    pub(super) fn speaks(&self) -> bool {
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

/// A fragment of a started block.
pub(super) fn piece(kind: Kind, start: &BlockStart, text: &str) -> Option<wire::Delta> {
    let text = text.to_owned();
    Some(match kind {
        Kind::Call(index) => {
            let mut told = wire::ToolCall {
                index: Some(index),
                ..wire::ToolCall::default()
            };
            if matches!(start, BlockStart::ToolCall { json: false, .. }) {
                told.custom = Some(wire::CustomCall {
                    name: None,
                    input: text,
                });
            } else {
                told.function = Some(wire::FunctionCall {
                    name: None,
                    arguments: Value::String(text),
                });
            }
            calling(told)
        }
        Kind::Other => return None,
        Kind::Refusal => wire::Delta {
            refusal: Some(text),
            ..wire::Delta::default()
        },
        Kind::Text => words(text),
        Kind::Thinking => wire::Delta {
            reasoning_content: Some(text),
            ..wire::Delta::default()
        },
    })
}
