//! Puts the blocks of a reply in order, as their deltas may interleave.

use std::collections::VecDeque;
use std::sync::Arc;

use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::tool_input::{JsonInput, ToolInput};

/// A displayable part of a reply, in display order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BlockEvent {
    Call {
        id: Option<ToolCallId>,
        input: ToolInput,
        name: Arc<str>,
    },
    /// The start of a call, before its arguments.
    CallBegan {
        name: Arc<str>,
    },
    /// More of the answer; the first one does not begin with white space.
    Text(String),
    /// The start of a text that is not blank.
    TextBegan,
    Thinking(String),
    /// The start of reasoning that is not blank.
    ThinkingBegan,
}

/// The open blocks of a reply, in the order of their starts. Later blocks wait for the first one.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    open: VecDeque<OpenBlock>,
}

#[derive(Debug)]
struct OpenBlock {
    began: bool,
    call: Option<ToolCallId>,
    ended: bool,
    index: u32,
    kind: OpenBlockKind,
    pending: Vec<BlockEvent>,
}

#[derive(Debug)]
enum OpenBlockKind {
    Call {
        arguments: String,
        json: bool,
        name: Arc<str>,
    },
    Other,
    Text,
    Thinking,
}

impl Blocks {
    /// Takes a delta, and returns what can be shown now.
    pub(crate) fn take(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<BlockEvent> {
        if let Delta::BlockStarted { index, start } = delta {
            let mut open = OpenBlock::new(*index, start, call.cloned());
            if let OpenBlockKind::Call { name, .. } = &open.kind {
                open.pending.push(BlockEvent::CallBegan {
                    name: Arc::clone(name),
                });
            }
            self.open.push_back(open);
        } else {
            let found = self
                .open
                .iter_mut()
                .find(|open| !open.ended && open.index == delta.index());
            if let Some(open) = found {
                open.take(delta);
            }
        }
        let mut pieces = Vec::new();
        while let Some(first) = self.open.front_mut() {
            pieces.append(&mut first.pending);
            if !first.ended {
                break;
            }
            self.open.pop_front();
        }
        pieces
    }
}

impl OpenBlock {
    fn new(index: u32, start: &BlockStart, call: Option<ToolCallId>) -> Self {
        let kind = match start {
            BlockStart::Refusal | BlockStart::Text => OpenBlockKind::Text,
            BlockStart::Thinking { .. } => OpenBlockKind::Thinking,
            BlockStart::ToolCall { json, name, .. } => OpenBlockKind::Call {
                arguments: String::new(),
                json: *json,
                name: Arc::clone(name),
            },
            BlockStart::Whole(_) => OpenBlockKind::Other,
        };
        Self {
            began: false,
            call,
            ended: false,
            index,
            kind,
            pending: Vec::new(),
        }
    }

    fn take(&mut self, delta: &Delta) {
        match (delta, &mut self.kind) {
            (Delta::TextAppended { text, .. }, OpenBlockKind::Text | OpenBlockKind::Thinking) => {
                let text = if self.began { text } else { text.trim_start() };
                if text.is_empty() {
                    return;
                }
                let thinking = matches!(self.kind, OpenBlockKind::Thinking);
                if !self.began {
                    self.pending.push(if thinking {
                        BlockEvent::ThinkingBegan
                    } else {
                        BlockEvent::TextBegan
                    });
                }
                self.began = true;
                let text = text.to_owned();
                self.pending.push(if thinking {
                    BlockEvent::Thinking(text)
                } else {
                    BlockEvent::Text(text)
                });
            }
            (Delta::ArgumentsAppended { text, .. }, OpenBlockKind::Call { arguments, .. }) => {
                arguments.push_str(text);
            }
            (Delta::BlockEnded { .. }, kind) => {
                self.ended = true;
                if let OpenBlockKind::Call {
                    arguments,
                    json,
                    name,
                } = kind
                {
                    let input = if *json {
                        ToolInput::Json(JsonInput::parse(arguments))
                    } else {
                        ToolInput::Text(arguments.as_str().into())
                    };
                    self.pending.push(BlockEvent::Call {
                        id: self.call.take(),
                        input,
                        name: Arc::clone(name),
                    });
                }
            }
            _ => {}
        }
    }
}
