//! A block of a reply while it is written.

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{Annotation, Content, OpaqueBlock, RanBy};
use jackfield_domain::delta::BlockStart;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Map, Value, json};

use super::event;
use crate::reply::{input, server_calls, state, text_of_media};
use crate::wire::{Block, BlockDelta, Event, ToolUse};
use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;

/// A block that was not written completely.
#[derive(Debug)]
pub(super) struct PendingBlock {
    pub(super) call: String,
    pub(super) ended: bool,
    /// The block's index in the domain.
    pub(super) index: u32,
    pub(super) pieces: Vec<BlockFragment>,
    pub(super) start: BlockStart,
    pub(super) states: Vec<OpaqueState>,
    /// Whether its start was written.
    pub(super) started: bool,
}

#[derive(Debug)]
pub(super) enum BlockFragment {
    Annotation(Annotation),
    Text(String),
}

impl PendingBlock {
    /// Writes what is available of the block.
    pub(super) fn write_new(&mut self, index: u32, out: &mut Vec<SseEvent>) {
        let is_text = |piece: &BlockFragment| piece.as_text().is_some();
        if !self.started {
            if !self.ended && !self.pieces.iter().any(is_text) {
                return;
            }
            let server_call = self.complete_server_call();
            if server_call.is_some() {
                self.pieces.clear();
            }
            let Some(content_block) = server_call.or_else(|| self.start_block()) else {
                if self.ended {
                    self.pieces.clear();
                }
                return;
            };
            self.started = true;
            out.push(event(&Event::ContentBlockStart {
                index,
                content_block,
            }));
            if let Some(text) = self.json_wrapping().0 {
                out.push(delta_event(
                    index,
                    BlockDelta::InputJsonDelta { partial_json: text },
                ));
            }
        }
        for fragment in std::mem::take(&mut self.pieces) {
            if let Some(delta) = self.delta(fragment) {
                out.push(delta_event(index, delta));
            }
        }
        if self.started && self.ended {
            if let Some(text) = self.json_wrapping().1 {
                out.push(delta_event(
                    index,
                    BlockDelta::InputJsonDelta { partial_json: text },
                ));
            }
            let signature = state::of_dialect(&self.states, state::SIGNATURE);
            if let BlockStart::Thinking { redacted: false } = self.start
                && let Some(signature) = signature.and_then(Value::as_str)
                && !signature.is_empty()
            {
                let signature = signature.to_owned();
                out.push(delta_event(index, BlockDelta::SignatureDelta { signature }));
            }
            out.push(event(&Event::ContentBlockStop { index }));
        }
    }

    /// The block in its start event; `None` if it cannot be expressed.
    fn start_block(&self) -> Option<Block> {
        match &self.start {
            BlockStart::Refusal | BlockStart::Text => {
                let has_text = self.pieces.iter().any(|piece| piece.as_text().is_some());
                has_text.then(|| text_block(""))
            }
            BlockStart::Thinking { redacted: false } => Some(Block::Thinking {
                thinking: String::new(),
                signature: String::new(),
            }),
            BlockStart::Thinking { redacted: true } => {
                let data = state::of_dialect(&self.states, state::REDACTED)?;
                Some(Block::RedactedThinking {
                    data: data.as_str()?.to_owned(),
                })
            }
            BlockStart::ToolCall {
                name,
                ran_by: RanBy::Client | RanBy::Engine,
                ..
            } => {
                let toolset = state::of_dialect(&self.states, state::TOOLSET);
                Some(Block::ToolUse(ToolUse {
                    id: self.call.clone(),
                    name: (**name).to_owned(),
                    input: json!({}),
                    caller: state::of_dialect(&self.states, state::CALLER).cloned(),
                    toolset_name: toolset.and_then(Value::as_str).map(str::to_owned),
                    cache_control: None,
                }))
            }
            BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                ..
            } => {
                let fields = state::of_dialect(&self.states, state::PROVIDER_CALL)?;
                let mut fields = fields.as_object()?.clone();
                fields.insert("input".to_owned(), json!({}));
                Some(Block::Other(fields))
            }
            BlockStart::Whole(Content::ToolOutcome(outcome)) => {
                // The whole reply has the notes on its losses.
                let notes = &mut Notes::default();
                ServerTool::from_states(&self.states)
                    .filter(|_| self.ended)
                    .map(|_| server_calls::outcome(outcome, "", notes))
            }
            BlockStart::Whole(content) => whole_block(content),
        }
    }

    /// A complete server tool call: some clients read its arguments only in its start.
    fn complete_server_call(&self) -> Option<Block> {
        let BlockStart::ToolCall {
            json,
            ran_by: RanBy::Provider,
            ..
        } = self.start
        else {
            return None;
        };
        let tool = ServerTool::from_states(&self.states).filter(|_| self.ended)?;
        let text: String = self
            .pieces
            .iter()
            .filter_map(BlockFragment::as_text)
            .collect();
        let tool_input = if json {
            ToolInput::Json(JsonInput::parse(&text))
        } else {
            ToolInput::Text(text.into())
        };
        let fields: Map<String, Value> = input(&tool_input, "", &mut Notes::default());
        Some(server_calls::call(&self.call, tool, fields))
    }

    fn delta(&self, fragment: BlockFragment) -> Option<BlockDelta> {
        Some(match (&self.start, fragment) {
            (BlockStart::Text, BlockFragment::Annotation(annotation)) => {
                BlockDelta::CitationsDelta {
                    citation: annotation.json,
                }
            }
            (BlockStart::Refusal | BlockStart::Text, BlockFragment::Text(text)) => {
                BlockDelta::TextDelta { text }
            }
            (BlockStart::Thinking { redacted: false }, BlockFragment::Text(thinking)) => {
                BlockDelta::ThinkingDelta { thinking }
            }
            (BlockStart::ToolCall { json: true, .. }, BlockFragment::Text(partial_json)) => {
                BlockDelta::InputJsonDelta { partial_json }
            }
            (BlockStart::ToolCall { json: false, .. }, BlockFragment::Text(text)) => {
                let quoted = Value::from(text).to_string();
                let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
                BlockDelta::InputJsonDelta {
                    partial_json: inner.to_owned(),
                }
            }
            (_, BlockFragment::Annotation(_) | BlockFragment::Text(_)) => return None,
        })
    }

    /// The JSON around the text of a text tool's call, as the wire format only has JSON.
    fn json_wrapping(&self) -> (Option<String>, Option<String>) {
        match &self.start {
            BlockStart::ToolCall { json: false, .. } => (
                Some(format!("{{\"{TEXT_FIELD}\":\"")),
                Some("\"}".to_owned()),
            ),
            BlockStart::Refusal
            | BlockStart::Text
            | BlockStart::Thinking { .. }
            | BlockStart::ToolCall { json: true, .. }
            | BlockStart::Whole(_) => (None, None),
        }
    }
}

impl BlockFragment {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Annotation(_) => None,
            Self::Text(text) => Some(text),
        }
    }
}

/// A block that arrives complete.
fn whole_block(content: &Content) -> Option<Block> {
    let text = match content {
        Content::Opaque(opaque) => match state::fields_of(opaque) {
            Some(fields) => return Some(Block::Other(fields.clone())),
            None => fallback(opaque)?,
        },
        Content::Audio(_) | Content::Document(_) | Content::Image(_) => text_of_media(content)?,
        Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => return None,
    };
    Some(text_block(&text))
}

fn fallback(opaque: &OpaqueBlock) -> Option<String> {
    let text = opaque.fallback.as_deref().filter(|text| !text.is_empty());
    text.map(str::to_owned)
}

fn text_block(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
        citations: None,
        cache_control: None,
    }
}

fn delta_event(index: u32, delta: BlockDelta) -> SseEvent {
    event(&Event::ContentBlockDelta { index, delta })
}
