//! Pieces of a reply as events for a client (Claude Messages API, 2026-10-21, streaming).

use std::collections::VecDeque;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_domain::block::{Annotation, Content, OpaqueBlock, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::usage::Usage;
use serde_json::{Value, json};

use crate::DIALECT;
use crate::error;
use crate::reply::{in_words, state, stop_reason, usage_to_wire};
use crate::request::TEXT_FIELD;
use crate::wire::{Block, BlockDelta, Event, Message, MessageDelta, ToolUse};

/// The event that says nothing but that the connection lives.
#[must_use]
pub fn ping() -> SseEvent {
    event(&Event::Ping {})
}

/// Writes one streamed reply, piece by piece.
///
/// `message_start` comes first, and blocks come strictly one after another: pieces of a later block wait
/// until the earlier ones have ended. What this dialect cannot tell is left out, as
/// [`crate::reply::to_wire`] notes for the whole reply. Pieces that fit no open block are ignored.
#[derive(Debug)]
pub struct Encoder {
    begun: bool,
    calls: u32,
    id: String,
    model: String,
    next: u32,
    usage: Usage,
    waiting: VecDeque<Waiting>,
}

/// A block that has not been told to its end.
#[derive(Debug)]
struct Waiting {
    call: String,
    ended: bool,
    /// The number of the domain.
    index: u32,
    pieces: Vec<Piece>,
    start: BlockStart,
    states: Vec<OpaqueState>,
    /// Whether its start has been told.
    told: bool,
}

#[derive(Debug)]
enum Piece {
    Annotation(Annotation),
    Text(String),
}

impl Encoder {
    /// An encoder of the reply with this id, by what the client knows as this model.
    #[must_use]
    pub fn new(id: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            begun: false,
            calls: 0,
            id: id.into(),
            model: model.into(),
            next: 0,
            usage: Usage::default(),
            waiting: VecDeque::new(),
        }
    }

    /// Says at the beginning what the input used, where that is known so early.
    #[must_use]
    pub const fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// The first event, unless it has been written: for a server that wants it out before any piece.
    pub fn begin(&mut self) -> Vec<SseEvent> {
        if self.begun {
            return Vec::new();
        }
        self.begun = true;
        let message = Message {
            id: self.id.clone(),
            kind: "message".to_owned(),
            role: "assistant".to_owned(),
            model: self.model.clone(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            stop_details: None,
            usage: Some(usage_to_wire(&self.usage)),
        };
        vec![event(&Event::MessageStart { message })]
    }

    /// The events for a piece. A call gets its upstream id, and one of this stream if it has none.
    pub fn push(&mut self, delta: &Delta) -> Vec<SseEvent> {
        self.push_as(delta, None)
    }

    /// The events for a piece; `call` is the id of the call that begins with it.
    pub fn push_as(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        let mut out = self.begin();
        match delta {
            Delta::BlockStarted { index, start } => {
                let call = call.map(|id| id.as_str().to_owned());
                let call = call.unwrap_or_else(|| self.call_id(start));
                self.waiting.push_back(Waiting {
                    call,
                    ended: false,
                    index: *index,
                    pieces: Vec::new(),
                    start: start.clone(),
                    states: Vec::new(),
                    told: false,
                });
            }
            Delta::AnnotationAdded { index, annotation } => {
                if let Some(block) = self.open(*index)
                    && *annotation.dialect == *DIALECT
                    && annotation.json.is_object()
                {
                    block.pieces.push(Piece::Annotation(annotation.clone()));
                }
            }
            Delta::ArgumentsAppended { index, text } | Delta::TextAppended { index, text } => {
                if let Some(block) = self.open(*index)
                    && !text.is_empty()
                {
                    block.pieces.push(Piece::Text((**text).to_owned()));
                }
            }
            Delta::BlockEnded { index } => {
                if let Some(block) = self.open(*index) {
                    block.ended = true;
                }
            }
            Delta::StateSet { index, state } => {
                if let Some(block) = self.open(*index) {
                    block.states.retain(|known| known.kind != state.kind);
                    block.states.push(state.clone());
                }
            }
        }
        self.flush(&mut out);
        out
    }

    /// The last events of a reply that is whole.
    #[must_use]
    pub fn finish(mut self, end: &ReplyEnd) -> Vec<SseEvent> {
        let mut out = self.begin();
        for block in &mut self.waiting {
            block.ended = true;
        }
        self.flush(&mut out);
        let (reason, sequence) = stop_reason(&end.finish);
        out.push(event(&Event::MessageDelta {
            delta: MessageDelta {
                stop_reason: Some(reason.into_owned()),
                stop_sequence: sequence.map(str::to_owned),
                stop_details: state::of_dialect(&end.opaque, state::STOP_DETAILS).cloned(),
            },
            usage: usage_to_wire(&end.usage.unwrap_or(self.usage)),
        }));
        out.push(event(&Event::MessageStop {}));
        out
    }

    /// The last event of a reply that broke off. Blocks stay open, so that nobody takes them for whole.
    #[must_use]
    pub fn fail(self, failure: &ModelFailure, request_id: Option<&str>) -> SseEvent {
        let (_, body) = error::to_wire(failure, request_id);
        event(&Event::Error {
            error: body.error,
            request_id: body.request_id,
        })
    }

    fn call_id(&mut self, start: &BlockStart) -> String {
        let known = match start {
            BlockStart::ToolCall { upstream, .. } => upstream.as_ref(),
            BlockStart::Refusal
            | BlockStart::Text
            | BlockStart::Thinking { .. }
            | BlockStart::Whole(_) => None,
        };
        match known.filter(|upstream| !upstream.id.is_empty()) {
            Some(upstream) => (*upstream.id).to_owned(),
            None => {
                self.calls += 1;
                format!("toolu_{}_{}", self.id, self.calls)
            }
        }
    }

    fn open(&mut self, index: u32) -> Option<&mut Waiting> {
        let mut blocks = self.waiting.iter_mut().rev();
        blocks.find(|block| block.index == index && !block.ended)
    }

    /// Tells what can be told of the first block, and of those after it once it has ended.
    fn flush(&mut self, out: &mut Vec<SseEvent>) {
        while let Some(block) = self.waiting.front_mut() {
            block.tell(self.next, out);
            if !block.ended {
                return;
            }
            if block.told {
                self.next += 1;
            }
            self.waiting.pop_front();
        }
    }
}

impl Waiting {
    fn tell(&mut self, index: u32, out: &mut Vec<SseEvent>) {
        let says = |piece: &Piece| matches!(piece, Piece::Text(_));
        if !self.told {
            if !self.ended && !self.pieces.iter().any(says) {
                return;
            }
            let Some(content_block) = self.beginning() else {
                if self.ended {
                    self.pieces.clear();
                }
                return;
            };
            self.told = true;
            out.push(event(&Event::ContentBlockStart {
                index,
                content_block,
            }));
            if let Some(text) = self.brackets().0 {
                out.push(piece(
                    index,
                    BlockDelta::InputJsonDelta { partial_json: text },
                ));
            }
        }
        for said in std::mem::take(&mut self.pieces) {
            if let Some(delta) = self.delta(said) {
                out.push(piece(index, delta));
            }
        }
        if self.told && self.ended {
            if let Some(text) = self.brackets().1 {
                out.push(piece(
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
                out.push(piece(index, BlockDelta::SignatureDelta { signature }));
            }
            out.push(event(&Event::ContentBlockStop { index }));
        }
    }

    /// What a block begins with; `None` if it cannot be told.
    fn beginning(&self) -> Option<Block> {
        match &self.start {
            BlockStart::Refusal | BlockStart::Text => {
                let says = self
                    .pieces
                    .iter()
                    .any(|piece| matches!(piece, Piece::Text(_)));
                says.then(|| text_block(""))
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
            BlockStart::Whole(content) => whole(content),
        }
    }

    fn delta(&self, said: Piece) -> Option<BlockDelta> {
        Some(match (&self.start, said) {
            (BlockStart::Text, Piece::Annotation(annotation)) => BlockDelta::CitationsDelta {
                citation: annotation.json,
            },
            (BlockStart::Refusal | BlockStart::Text, Piece::Text(text)) => {
                BlockDelta::TextDelta { text }
            }
            (BlockStart::Thinking { redacted: false }, Piece::Text(thinking)) => {
                BlockDelta::ThinkingDelta { thinking }
            }
            (BlockStart::ToolCall { json: true, .. }, Piece::Text(partial_json)) => {
                BlockDelta::InputJsonDelta { partial_json }
            }
            (BlockStart::ToolCall { json: false, .. }, Piece::Text(text)) => {
                let quoted = Value::from(text).to_string();
                let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
                BlockDelta::InputJsonDelta {
                    partial_json: inner.to_owned(),
                }
            }
            (_, Piece::Annotation(_) | Piece::Text(_)) => return None,
        })
    }

    /// What stands around the text of a call that takes text: the wire knows JSON alone.
    fn brackets(&self) -> (Option<String>, Option<String>) {
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

/// A block that comes whole.
fn whole(content: &Content) -> Option<Block> {
    let text = match content {
        Content::Opaque(opaque) => match state::fields_of(opaque) {
            Some(fields) => return Some(Block::Other(fields.clone())),
            None => fallback(opaque)?,
        },
        Content::Audio(_) | Content::Document(_) | Content::Image(_) => in_words(content)?,
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

fn piece(index: u32, delta: BlockDelta) -> SseEvent {
    event(&Event::ContentBlockDelta { index, delta })
}

fn event(event: &Event) -> SseEvent {
    let name = match event {
        Event::ContentBlockDelta { .. } => "content_block_delta",
        Event::ContentBlockStart { .. } => "content_block_start",
        Event::ContentBlockStop { .. } => "content_block_stop",
        Event::Error { .. } => "error",
        Event::MessageDelta { .. } => "message_delta",
        Event::MessageStart { .. } => "message_start",
        Event::MessageStop {} => "message_stop",
        Event::Ping {} => "ping",
    };
    SseEvent {
        // Nothing in an event refuses to be written: all keys are text and all numbers finite.
        data: serde_json::to_string(event).unwrap_or_default(),
        event: Some(name),
    }
}
