//! The reply accumulator: streamed deltas and whole replies produce the same value.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use crate::block::{
    Annotation, Block, CalledName, Content, RanBy, Text, Thinking, ToolCall, UpstreamId,
};
use crate::cursor::Cursor;
use crate::delta::{BlockStart, Delta};
use crate::ids::{ModelAttempt, ToolCallId, TurnId};
use crate::message::{Message, Role};
use crate::opaque::OpaqueState;
use crate::reply::{Reply, ReplyEnd};
use crate::text_event::TextStart;
use crate::tool::Catalog;
use crate::tool_input::{JsonInput, ToolInput};

/// A reply that violates the rules of [`Delta`]. The adapter or its server is at fault.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum ProtocolViolation {
    /// A block began under the index of a block that is still open.
    #[error("block {index} began twice")]
    AlreadyOpen {
        /// The block.
        index: u32,
    },
    /// The reply ended while a block was open.
    #[error("the reply ended inside block {index}")]
    NeverEnded {
        /// The block.
        index: u32,
    },
    /// A delta belongs to a block that is not open.
    #[error("a piece came for block {index}, which is not open")]
    NotOpen {
        /// The block.
        index: u32,
    },
    /// The reply has more than [`ReplyAccumulator::MAX_UNITS`].
    #[error("the reply is longer than {} bytes", ReplyAccumulator::MAX_UNITS)]
    TooLong,
    /// A delta does not match the kind of its block.
    #[error("a piece came for block {index} that does not fit its kind")]
    WrongKind {
        /// The block.
        index: u32,
    },
}

/// Builds a reply from its deltas.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyAccumulator {
    attempt: ModelAttempt,
    blocks: Vec<BlockBuilder>,
    /// The position of the newest block of each index; no other block of that index can be open.
    latest: BTreeMap<u32, usize>,
    turn: TurnId,
    units: usize,
    visible: bool,
}

impl ReplyAccumulator {
    /// The maximum length of a reply, in units: a unit is a block's start, its end, or a byte of its text. A
    /// [`Cursor`] has 24 bits for them.
    pub const MAX_UNITS: usize = Cursor::MAX_UNITS;

    /// An empty reply. The ids of its tool calls are derived from the turn and the attempt.
    #[must_use]
    pub const fn new(turn: TurnId, attempt: ModelAttempt) -> Self {
        Self {
            attempt,
            blocks: Vec::new(),
            latest: BTreeMap::new(),
            turn,
            units: 0,
            visible: false,
        }
    }

    /// The attempt that produces this reply.
    #[must_use]
    pub const fn attempt(&self) -> ModelAttempt {
        self.attempt
    }

    /// Adds a delta.
    ///
    /// # Errors
    ///
    /// [`ProtocolViolation`] if it does not match the deltas before; the accumulator is unchanged then.
    pub fn push(&mut self, delta: &Delta) -> Result<(), ProtocolViolation> {
        let size = delta.units();
        if self.units + size > Self::MAX_UNITS {
            return Err(ProtocolViolation::TooLong);
        }
        match delta {
            Delta::BlockStarted { index, start } => self.start_block(*index, start)?,
            Delta::AnnotationAdded { index, annotation } => {
                match &mut self.open_block(*index)?.part {
                    BlockPart::Text { annotations, .. } => annotations.push(annotation.clone()),
                    BlockPart::Call { .. }
                    | BlockPart::Refusal(_)
                    | BlockPart::Thinking { .. }
                    | BlockPart::Whole(_) => {
                        return Err(ProtocolViolation::WrongKind { index: *index });
                    }
                }
            }
            Delta::ArgumentsAppended { index, text } => match &mut self.open_block(*index)?.part {
                BlockPart::Call { arguments, .. } => arguments.push_str(text),
                BlockPart::Refusal(_)
                | BlockPart::Text { .. }
                | BlockPart::Thinking { .. }
                | BlockPart::Whole(_) => {
                    return Err(ProtocolViolation::WrongKind { index: *index });
                }
            },
            Delta::TextAppended { index, text: more } => match &mut self.open_block(*index)?.part {
                BlockPart::Refusal(text)
                | BlockPart::Text { text, .. }
                | BlockPart::Thinking { text, .. } => {
                    text.push_str(more);
                }
                BlockPart::Call { .. } | BlockPart::Whole(_) => {
                    return Err(ProtocolViolation::WrongKind { index: *index });
                }
            },
            Delta::StateSet { index, state } => {
                let opaque = &mut self.open_block(*index)?.opaque;
                opaque.retain(|known| known.kind != state.kind || known.owner != state.owner);
                opaque.push(state.clone());
            }
            Delta::BlockEnded { index } => self.open_block(*index)?.open = false,
        }
        self.units += size;
        self.visible |= delta.is_visible();
        Ok(())
    }

    /// The number of units so far: block starts, block ends and bytes of text.
    #[must_use]
    pub const fn units(&self) -> usize {
        self.units
    }

    /// Whether a reader of the stream has seen part of the answer.
    #[must_use]
    pub const fn is_visible(&self) -> bool {
        self.visible
    }

    /// The id of the tool call in the newest block of this index.
    #[must_use]
    pub fn call_id(&self, index: u32) -> Option<ToolCallId> {
        let place = *self.latest.get(&index)?;
        match self.blocks.get(place)?.part {
            BlockPart::Call { .. } => Some(id_at(&self.turn, self.attempt, place)),
            BlockPart::Refusal(_)
            | BlockPart::Text { .. }
            | BlockPart::Thinking { .. }
            | BlockPart::Whole(_) => None,
        }
    }

    /// The text so far of the block at this position, and whether it has ended.
    pub(crate) fn text_of(&self, place: usize) -> Option<(&str, bool)> {
        let block = self.blocks.get(place)?;
        let text = match &block.part {
            BlockPart::Call { arguments, .. } => arguments,
            BlockPart::Refusal(text)
            | BlockPart::Text { text, .. }
            | BlockPart::Thinking { text, .. } => text,
            BlockPart::Whole(_) => "",
        };
        Some((text, !block.open))
    }

    /// The start of the block at this position.
    pub(crate) fn start_of(&self, place: usize) -> Option<TextStart> {
        let block = self.blocks.get(place)?;
        Some(match &block.part {
            BlockPart::Call {
                json,
                name,
                ran_by,
                upstream,
                ..
            } => TextStart::Call {
                by_provider: *ran_by == RanBy::Provider,
                id: id_at(&self.turn, self.attempt, place),
                json: *json,
                name: name.clone(),
                upstream: upstream.clone(),
            },
            BlockPart::Refusal(_) => TextStart::Refusal,
            BlockPart::Text { .. } => TextStart::Text {
                initial_state: block.opaque.iter().find_map(OpaqueState::initial_state),
            },
            BlockPart::Thinking { redacted, .. } => TextStart::Thinking {
                initial_state: block.opaque.iter().find_map(OpaqueState::initial_state),
                redacted: *redacted,
            },
            BlockPart::Whole(content) => TextStart::Whole(content.clone()),
        })
    }

    /// The annotations and the opaque state of the block at this position.
    pub(crate) fn ending_of(&self, place: usize) -> Option<(Vec<Annotation>, Vec<OpaqueState>)> {
        let block = self.blocks.get(place)?;
        let annotations = match &block.part {
            BlockPart::Text { annotations, .. } => annotations.clone(),
            BlockPart::Call { .. }
            | BlockPart::Refusal(_)
            | BlockPart::Thinking { .. }
            | BlockPart::Whole(_) => Vec::new(),
        };
        Some((annotations, block.opaque.clone()))
    }

    /// Checks that no block is open.
    ///
    /// # Errors
    ///
    /// [`ProtocolViolation::NeverEnded`] if one is.
    pub fn check_ended(&self) -> Result<(), ProtocolViolation> {
        match self.blocks.iter().find(|block| block.open) {
            Some(open) => Err(ProtocolViolation::NeverEnded { index: open.index }),
            None => Ok(()),
        }
    }

    /// The whole reply. The catalog determines which calls are client tool calls.
    ///
    /// # Errors
    ///
    /// [`ProtocolViolation::NeverEnded`] if a block is still open.
    pub fn finish(self, end: ReplyEnd, catalog: &Catalog) -> Result<Reply, ProtocolViolation> {
        self.check_ended()?;
        let Self {
            attempt,
            blocks: building,
            turn,
            ..
        } = self;
        let blocks = building
            .into_iter()
            .enumerate()
            .map(|(place, block)| block.build(|| id_at(&turn, attempt, place), catalog))
            .collect();
        let message = Message {
            blocks,
            opaque: end.opaque.clone(),
            role: Role::Assistant,
        };
        Ok(Reply {
            end,
            message: Arc::new(message),
        })
    }

    /// The text of an interrupted reply so far; other content is valid only in a whole reply.
    #[must_use]
    pub fn partial(&self) -> Option<Arc<Message>> {
        let blocks: Vec<Block> = self
            .blocks
            .iter()
            .filter_map(|block| match &block.part {
                BlockPart::Text { text, .. } if !text.trim().is_empty() => {
                    Some(Block::text(text.as_str()))
                }
                BlockPart::Call { .. }
                | BlockPart::Refusal(_)
                | BlockPart::Text { .. }
                | BlockPart::Thinking { .. }
                | BlockPart::Whole(_) => None,
            })
            .collect();
        (!blocks.is_empty()).then(|| Arc::new(Message::new(Role::Assistant, blocks)))
    }

    fn start_block(&mut self, index: u32, start: &BlockStart) -> Result<(), ProtocolViolation> {
        if self.open_block(index).is_ok() {
            return Err(ProtocolViolation::AlreadyOpen { index });
        }
        let part = match start {
            BlockStart::Refusal => BlockPart::Refusal(String::new()),
            BlockStart::Text => BlockPart::Text {
                annotations: Vec::new(),
                text: String::new(),
            },
            BlockStart::Thinking { redacted } => BlockPart::Thinking {
                redacted: *redacted,
                text: String::new(),
            },
            BlockStart::ToolCall {
                json,
                name,
                ran_by,
                upstream,
            } => BlockPart::Call {
                arguments: String::new(),
                json: *json,
                name: CalledName::new(name),
                ran_by: *ran_by,
                upstream: upstream.clone(),
            },
            BlockStart::Whole(content) => match content {
                Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_)
                | Content::ToolCall(_) => return Err(ProtocolViolation::WrongKind { index }),
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::ToolOutcome(_) => BlockPart::Whole(content.clone()),
            },
        };
        self.latest.insert(index, self.blocks.len());
        if self.blocks.is_empty() {
            // Most replies have one block.
            self.blocks.reserve_exact(1);
        }
        self.blocks.push(BlockBuilder {
            index,
            opaque: Vec::new(),
            open: true,
            part,
        });
        Ok(())
    }

    fn open_block(&mut self, index: u32) -> Result<&mut BlockBuilder, ProtocolViolation> {
        let place = self.latest.get(&index);
        let found = place.and_then(|place| self.blocks.get_mut(*place));
        found
            .filter(|block| block.open)
            .ok_or(ProtocolViolation::NotOpen { index })
    }
}

/// The id of the call in the block at this position.
fn id_at(turn: &TurnId, attempt: ModelAttempt, place: usize) -> ToolCallId {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    ToolCallId::derive(turn, attempt, place)
}

/// A block that is being built.
#[derive(Clone, Debug, PartialEq)]
struct BlockBuilder {
    index: u32,
    opaque: Vec<OpaqueState>,
    open: bool,
    part: BlockPart,
}

#[derive(Clone, Debug, PartialEq)]
enum BlockPart {
    Call {
        arguments: String,
        json: bool,
        name: CalledName,
        ran_by: RanBy,
        upstream: Option<UpstreamId>,
    },
    Refusal(String),
    Text {
        annotations: Vec<Annotation>,
        text: String,
    },
    Thinking {
        redacted: bool,
        text: String,
    },
    Whole(Content),
}

impl BlockBuilder {
    fn build(self, id: impl FnOnce() -> ToolCallId, catalog: &Catalog) -> Block {
        let content = match self.part {
            BlockPart::Call {
                arguments,
                json,
                name,
                ran_by,
                upstream,
            } => {
                let input = if json {
                    ToolInput::Json(JsonInput::parse(&arguments))
                } else {
                    ToolInput::Text(arguments.into())
                };
                let ran_by = match catalog.tool(name.as_str()) {
                    Some(tool) if ran_by != RanBy::Provider => tool.ran_by,
                    Some(_) | None => ran_by,
                };
                Content::ToolCall(Arc::new(ToolCall {
                    id: id(),
                    input,
                    name,
                    ran_by,
                    upstream,
                }))
            }
            BlockPart::Refusal(text) => Content::Refusal(text.into()),
            BlockPart::Text { annotations, text } => Content::Text(Text {
                annotations,
                text: text.into(),
            }),
            BlockPart::Thinking { redacted, text } => Content::Thinking(Thinking {
                redacted,
                text: text.into(),
            }),
            BlockPart::Whole(content) => content,
        };
        Block {
            cache: None,
            content,
            opaque: self.opaque,
        }
    }
}
