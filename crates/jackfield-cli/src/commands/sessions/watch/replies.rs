//! The text of replies as the views know it: in deltas.

use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ModelAttempt, ToolCallId};
use jackfield_domain::message::Message;
use jackfield_domain::session_events::{TextEvent, TextEventKind, TextKind, TextStart};

use crate::render::RenderEvent;

/// What has been shown of the reply that was told last.
#[derive(Debug, Default)]
pub(super) struct Replies {
    attempt: Option<ModelAttempt>,
    /// The block that is open, and its call, if it is one.
    open: Option<(u32, Option<ToolCallId>)>,
}

impl Replies {
    /// A piece of a reply, for the views. Where the watching begins inside a block, they are told of its
    /// start before.
    pub(super) fn take(&mut self, attempt: ModelAttempt, piece: TextEvent) -> Vec<RenderEvent> {
        if self.attempt != Some(attempt) {
            (self.attempt, self.open) = (Some(attempt), None);
        }
        let TextEvent { block, said } = piece;
        let mut deltas = Vec::new();
        match said {
            // What hangs on it comes with the whole reply.
            TextEventKind::Ended { .. } => {
                if self.open.is_some() {
                    deltas.push(Delta::BlockEnded { index: block });
                }
            }
            TextEventKind::Started(started) => {
                let (start, call) = began(started);
                self.open = Some((block, call));
                deltas.push(Delta::BlockStarted {
                    index: block,
                    start,
                });
            }
            TextEventKind::Text { of, text } => {
                let start = match of {
                    // Whose call it is comes with the reply, which has it whole.
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

    /// What is kept of a reply that broke off, unless something of it was shown while it came.
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
        let said = [TextEventKind::Text { of, text }, ended];
        let pieces = said.map(|said| TextEvent { block: 0, said });
        let events = pieces
            .into_iter()
            .flat_map(|piece| self.take(attempt, piece));
        events.collect()
    }
}

/// The start of a block, and the call, if it is one.
fn began(started: TextStart) -> (BlockStart, Option<ToolCallId>) {
    match started {
        TextStart::Call { id, json, name, .. } => {
            let start = BlockStart::ToolCall {
                json,
                name: name.as_str().into(),
                // Who runs it comes with the reply.
                ran_by: RanBy::Engine,
                upstream: None,
            };
            (start, Some(id))
        }
        TextStart::Refusal => (BlockStart::Refusal, None),
        TextStart::Text => (BlockStart::Text, None),
        TextStart::Thinking { redacted, .. } => (BlockStart::Thinking { redacted }, None),
        TextStart::Whole(content) => (BlockStart::Whole(content), None),
    }
}
