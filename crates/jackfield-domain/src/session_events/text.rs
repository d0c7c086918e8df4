//! The text of a reply as a sequence of units: a block's start, the bytes of its text, its end.
//!
//! The text is the content of text, refusals and reasoning, and the raw arguments of tool calls. The start of
//! any other block contains the whole block. Annotations and opaque state come with the block's end, except the
//! provider's id of text and of reasoning, which comes with the start.

use crate::accumulator::ReplyAccumulator;
use crate::block::{Annotation, Block, Content, RanBy};
use crate::message::Message;
use crate::opaque::OpaqueState;
use crate::text_event::{TextEvent, TextEventKind, TextKind, TextStart};
use crate::tool_input::ToolInput;

/// The maximum length of one piece, in bytes. It is large so that a returning watcher catches up in few pieces,
/// and bounded so that the reply is not locked for long.
const MAX_LENGTH: usize = 256 * 1024;

/// A reply, in flight or recorded.
#[derive(Clone, Copy)]
pub(super) enum ReplyText<'r> {
    InFlight(&'r ReplyAccumulator),
    Whole(&'r Message),
}

/// A position between two units of a reply.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextPosition {
    /// The index of the block at this position.
    block: usize,
    /// The number of its units before the position: its start, and bytes.
    offset: usize,
    /// The number of the reply's units before the position.
    units: usize,
}

impl TextPosition {
    pub(super) const fn units(self) -> usize {
        self.units
    }
}

impl ReplyText<'_> {
    /// The position after this many units. Inside a character, it is moved before the character; beyond a
    /// complete reply, to its end. `None` if a reply in flight is shorter.
    pub(super) fn find(self, units: usize) -> Option<TextPosition> {
        let mut place = TextPosition::default();
        while place.units < units {
            let left = units - place.units;
            let Some((text, ended)) = self.text_of(place.block) else {
                return self.if_complete(place);
            };
            if ended && left >= text.len() + 2 {
                place.block += 1;
                place.units += text.len() + 2;
                continue;
            }
            if left > text.len() + 1 {
                return self.if_complete(place);
            }
            place.offset = 1 + text.floor_char_boundary(left - 1);
            place.units += place.offset;
            break;
        }
        Some(place)
    }

    /// The next piece; moves the position after it.
    pub(super) fn next(self, place: &mut TextPosition) -> Option<TextEvent> {
        let (text, ended) = self.text_of(place.block)?;
        let block = u32::try_from(place.block).unwrap_or(u32::MAX);
        let kind = if place.offset == 0 {
            let started = self.start_of(place.block)?;
            if has_initial_state(&started) && text.is_empty() && !ended {
                // The provider's id must come before the text.
                return None;
            }
            place.offset = 1;
            place.units += 1;
            TextEventKind::Started(started)
        } else if let Some(rest) = text.get(place.offset - 1..)
            && !rest.is_empty()
        {
            let more = rest.get(..rest.floor_char_boundary(MAX_LENGTH))?;
            place.offset += more.len();
            place.units += more.len();
            let kind = self.kind_of(place.block)?;
            let text = more.into();
            TextEventKind::Text { kind, text }
        } else if ended {
            let (annotations, opaque) = self.ending_of(place.block)?;
            place.block += 1;
            place.offset = 0;
            place.units += 1;
            TextEventKind::Ended {
                annotations,
                opaque,
            }
        } else {
            return None;
        };
        Some(TextEvent { block, kind })
    }

    const fn if_complete(self, place: TextPosition) -> Option<TextPosition> {
        match self {
            Self::InFlight(_) => None,
            Self::Whole(_) => Some(place),
        }
    }

    /// The text of the block at this index, and whether it has ended.
    fn text_of(&self, place: usize) -> Option<(&str, bool)> {
        match self {
            Self::InFlight(reply) => reply.text_of(place),
            Self::Whole(message) => message.blocks.get(place).map(|block| (text(block), true)),
        }
    }

    /// The annotations and state of the block at this index, which has ended.
    fn ending_of(self, place: usize) -> Option<(Vec<Annotation>, Vec<OpaqueState>)> {
        match self {
            Self::InFlight(reply) => reply.ending_of(place),
            Self::Whole(message) => {
                let block = message.blocks.get(place)?;
                let annotations = match &block.content {
                    Content::Text(text) => text.annotations.clone(),
                    Content::Audio(_)
                    | Content::Document(_)
                    | Content::Image(_)
                    | Content::Opaque(_)
                    | Content::Refusal(_)
                    | Content::Thinking(_)
                    | Content::ToolCall(_)
                    | Content::ToolOutcome(_) => Vec::new(),
                };
                Some((annotations, block.opaque.clone()))
            }
        }
    }

    fn kind_of(self, place: usize) -> Option<TextKind> {
        match self.start_of(place)? {
            TextStart::Call { .. } => Some(TextKind::Arguments),
            TextStart::Refusal => Some(TextKind::Refusal),
            TextStart::Text { .. } => Some(TextKind::Text),
            TextStart::Thinking { .. } => Some(TextKind::Thinking),
            TextStart::Whole(_) => None,
        }
    }

    fn start_of(self, place: usize) -> Option<TextStart> {
        match self {
            Self::InFlight(reply) => reply.start_of(place),
            Self::Whole(message) => message.blocks.get(place).map(text_start),
        }
    }
}

/// Whether the start of a block says what is known of its state.
const fn has_initial_state(started: &TextStart) -> bool {
    match started {
        TextStart::Text { .. } | TextStart::Thinking { .. } => true,
        TextStart::Call { .. } | TextStart::Refusal | TextStart::Whole(_) => false,
    }
}

fn text(block: &Block) -> &str {
    match &block.content {
        Content::Refusal(text) => text,
        Content::Text(text) => &text.text,
        Content::Thinking(thinking) => &thinking.text,
        Content::ToolCall(call) => match &call.input {
            ToolInput::Json(input) => input.raw(),
            ToolInput::Text(text) => text,
        },
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::ToolOutcome(_) => "",
    }
}

fn text_start(block: &Block) -> TextStart {
    match &block.content {
        Content::Refusal(_) => TextStart::Refusal,
        Content::Text(_) => TextStart::Text {
            initial_state: block.opaque.iter().find_map(OpaqueState::initial_state),
        },
        Content::Thinking(thinking) => TextStart::Thinking {
            initial_state: block.opaque.iter().find_map(OpaqueState::initial_state),
            redacted: thinking.redacted,
        },
        Content::ToolCall(call) => TextStart::Call {
            by_provider: call.ran_by == RanBy::Provider,
            id: call.id.clone(),
            json: match call.input {
                ToolInput::Json(_) => true,
                ToolInput::Text(_) => false,
            },
            name: call.name.clone(),
            upstream: call.upstream.clone(),
        },
        content @ (Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::ToolOutcome(_)) => TextStart::Whole(content.clone()),
    }
}
