//! Converts the text of watched replies to deltas for the renderers.

use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ModelAttempt, ToolCallId};
use jackfield_domain::message::Message;
use jackfield_domain::text_event::{TextEvent, TextEventKind, TextKind, TextStart};

use crate::render::RenderEvent;

/// The state of the current reply.
#[derive(Debug, Default)]
pub(super) struct Replies {
    attempt: Option<ModelAttempt>,
    /// The open block, and its call if it is one.
    open: Option<(u32, Option<ToolCallId>)>,
}

impl Replies {
    /// Converts a text event to render events. If the watch begins inside a block, the start of the block comes
    /// first.
    pub(super) fn take(&mut self, attempt: ModelAttempt, piece: TextEvent) -> Vec<RenderEvent> {
        if self.attempt != Some(attempt) {
            (self.attempt, self.open) = (Some(attempt), None);
        }
        let TextEvent { block, kind: said } = piece;
        let mut deltas = Vec::new();
        match said {
            // Data attached to the block comes with the whole reply.
            TextEventKind::Ended { .. } => {
                if self.open.is_some() {
                    deltas.push(Delta::BlockEnded { index: block });
                }
            }
            TextEventKind::Started(started) => {
                let (start, call) = block_start(started);
                self.open = Some((block, call));
                deltas.push(Delta::BlockStarted {
                    index: block,
                    start,
                });
            }
            TextEventKind::Text { kind: of, text } => {
                let start = match of {
                    // The call of the arguments comes with the whole reply.
                    TextKind::Arguments => None,
                    TextKind::Refusal => Some(BlockStart::Refusal),
                    TextKind::Text => Some(BlockStart::Text),
                    TextKind::Thinking => Some(BlockStart::Thinking { redacted: false }),
                };
                if self.open.is_none() {
                    let Some(start) = start else {
                        return Vec::new();
                    };
                    self.open = Some((block, None));
                    deltas.push(Delta::BlockStarted {
                        index: block,
                        start,
                    });
                }
                deltas.push(match of {
                    TextKind::Arguments => Delta::ArgumentsAppended { index: block, text },
                    TextKind::Refusal | TextKind::Text | TextKind::Thinking => {
                        Delta::TextAppended { index: block, text }
                    }
                });
            }
        }
        let call = self.open.as_ref().and_then(|(_, call)| call.clone());
        let ended = deltas
            .iter()
            .any(|delta| matches!(delta, Delta::BlockEnded { .. }));
        if ended {
            self.open = None;
        }
        let events = deltas.into_iter().map(|delta| RenderEvent::Delta {
            attempt,
            call: call.clone(),
            delta,
        });
        events.collect()
    }

    /// The stored part of a reply that broke off, unless some of it was shown live.
    pub(super) fn partial(&mut self, attempt: ModelAttempt, partial: &Message) -> Vec<RenderEvent> {
        if self.attempt == Some(attempt) {
            return Vec::new();
        }
        let text: Arc<str> = partial.to_text().into();
        let of = TextKind::Text;
        let ended = TextEventKind::Ended {
            annotations: Vec::new(),
            opaque: Vec::new(),
        };
        let said = [TextEventKind::Text { kind: of, text }, ended];
        let pieces = said.map(|said| TextEvent {
            block: 0,
            kind: said,
        });
        let events = pieces
            .into_iter()
            .flat_map(|piece| self.take(attempt, piece));
        events.collect()
    }
}

/// The start of a block, and its call if it is one.
fn block_start(started: TextStart) -> (BlockStart, Option<ToolCallId>) {
    match started {
        TextStart::Call { id, json, name, .. } => {
            let start = BlockStart::ToolCall {
                json,
                name: name.as_str().into(),
                // The runner comes with the whole reply.
                ran_by: RanBy::Engine,
                upstream: None,
            };
            (start, Some(id))
        }
        TextStart::Refusal => (BlockStart::Refusal, None),
        TextStart::Text { .. } => (BlockStart::Text, None),
        TextStart::Thinking { redacted, .. } => (BlockStart::Thinking { redacted }, None),
        TextStart::Whole(content) => (BlockStart::Whole(content), None),
    }
}
