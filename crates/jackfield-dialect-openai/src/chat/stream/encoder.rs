//! Pieces of a reply as chunks for a client.

use std::collections::VecDeque;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_domain::block::{Annotation, Content, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::reply::ReplyEnd;
use serde_json::Value;

use crate::chat::reply::ending::{Holds, finish_word, usage_to_wire};
use crate::chat::reply::{is_audio, state};
use crate::chat::request::in_words;
use crate::chat::{DIALECT, wire};
use crate::error;

/// Writes one streamed reply, piece by piece.
///
/// The role comes first, why it ended comes on a chunk of its own, what was used only where it was asked
/// for, and `[DONE]` last. Blocks come strictly one after another: pieces of a later block wait until the
/// earlier ones have ended. What this dialect cannot tell is left out, as [`crate::chat::reply::to_wire`]
/// notes for the whole reply. Pieces that fit no open block are ignored.
#[derive(Debug)]
pub struct Encoder {
    begun: bool,
    calls: u32,
    created: u64,
    holds: Holds,
    id: String,
    /// The kind of the last block that was told.
    last: Option<Kind>,
    model: String,
    /// Whether any words have been told.
    spoke: bool,
    usage: bool,
    waiting: VecDeque<Waiting>,
}

/// What a block is told as.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// The number of the call.
    Call(u32),
    Other,
    Refusal,
    Text,
    Thinking,
}

/// A block that has not been told to its end.
#[derive(Debug)]
struct Waiting {
    call: Option<String>,
    ended: bool,
    /// The number of the domain.
    index: u32,
    pieces: Vec<Piece>,
    start: BlockStart,
    states: Vec<OpaqueState>,
    /// As what its start has been told.
    told: Option<Kind>,
}

#[derive(Debug)]
enum Piece {
    Annotation(Annotation),
    Text(String),
}

impl Encoder {
    /// An encoder of the reply with this id that began at `created`, in seconds since 1970, by what the
    /// client knows as this model.
    #[must_use]
    pub fn new(id: impl Into<String>, model: impl Into<String>, created: u64) -> Self {
        Self {
            begun: false,
            calls: 0,
            created,
            holds: Holds::default(),
            id: id.into(),
            last: None,
            model: model.into(),
            spoke: false,
            usage: false,
            waiting: VecDeque::new(),
        }
    }

    /// Says at the end what was used, which the client asks for with `stream_options.include_usage`.
    #[must_use]
    pub const fn with_usage(mut self) -> Self {
        self.usage = true;
        self
    }

    /// The first event, unless it has been written: for a server that wants it out before any piece.
    pub fn begin(&mut self) -> Vec<SseEvent> {
        if self.begun {
            return Vec::new();
        }
        self.begun = true;
        vec![self.chunk(wire::Delta {
            role: Some("assistant".to_owned()),
            content: Some(String::new()),
            ..wire::Delta::default()
        })]
    }

    /// The events for a piece. A call gets its upstream id, and one of this stream if it has none.
    pub fn push(&mut self, delta: &Delta) -> Vec<SseEvent> {
        self.push_as(delta, None)
    }

    /// The events for a piece; `call` is the id of the call that begins with it.
    pub fn push_as(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        let mut out = self.begin();
        match delta {
            Delta::BlockStarted { index, start } => self.waiting.push_back(Waiting {
                call: call.map(|id| id.as_str().to_owned()),
                ended: false,
                index: *index,
                pieces: Vec::new(),
                start: start.clone(),
                states: Vec::new(),
                told: None,
            }),
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
        if let Some(details) = state::of_dialect(&end.opaque, state::REASONING_DETAILS) {
            out.push(self.chunk(wire::Delta {
                reasoning_details: Some(details.clone()),
                ..wire::Delta::default()
            }));
        }
        let reason = finish_word(&end.finish, self.holds);
        out.push(self.event(vec![choice(wire::Delta::default(), Some(reason))], None));
        if self.usage
            && let Some(usage) = &end.usage
        {
            out.push(self.event(Vec::new(), Some(usage_to_wire(usage))));
        }
        out.push(SseEvent {
            data: "[DONE]".to_owned(),
            event: None,
        });
        out
    }

    /// The last event of a reply that broke off. Nothing follows it, so that nobody takes the reply for whole.
    #[must_use]
    pub fn fail(self, failure: &ModelFailure) -> SseEvent {
        let (_, body) = error::to_wire(failure);
        event(&body)
    }

    fn open(&mut self, index: u32) -> Option<&mut Waiting> {
        let mut blocks = self.waiting.iter_mut().rev();
        blocks.find(|block| block.index == index && !block.ended)
    }

    /// Tells what can be told of the first block, and of those after it once it has ended.
    fn flush(&mut self, out: &mut Vec<SseEvent>) {
        while let Some(mut block) = self.waiting.pop_front() {
            self.tell(&mut block, out);
            if !block.ended {
                self.waiting.push_front(block);
                return;
            }
            if let Some(kind) = block.told {
                self.last = Some(kind);
            }
        }
    }

    fn tell(&mut self, block: &mut Waiting, out: &mut Vec<SseEvent>) {
        if block.told.is_none() && !self.begin_block(block, out) {
            return;
        }
        let Some(kind) = block.told else { return };
        for said in std::mem::take(&mut block.pieces) {
            out.extend(piece(kind, &block.start, said).map(|delta| self.chunk(delta)));
        }
    }

    /// Tells the start of a block; whether there is one to tell, and anything after it.
    fn begin_block(&mut self, block: &mut Waiting, out: &mut Vec<SseEvent>) -> bool {
        // State of a call comes after its start and before its arguments; and blanks may come to nothing.
        if !block.ended && !block.speaks() {
            return false;
        }
        match &block.start {
            BlockStart::Refusal if block.speaks() => {
                self.holds.refusal = true;
                block.told = Some(Kind::Refusal);
            }
            BlockStart::Text if block.speaks() => {
                self.separate(out);
                block.told = Some(Kind::Text);
            }
            BlockStart::Thinking { redacted: false } if block.speaks() => {
                block.told = Some(Kind::Thinking);
            }
            BlockStart::Refusal | BlockStart::Text | BlockStart::Thinking { .. } => {}
            BlockStart::ToolCall {
                ran_by: RanBy::Client | RanBy::Engine,
                json,
                name,
                upstream,
            } => {
                let index = self.calls;
                self.calls += 1;
                self.holds.calls = true;
                let upstream = upstream.as_ref().map(|known| &*known.id);
                let upstream = upstream.filter(|id| !id.is_empty()).map(str::to_owned);
                let id = block.call.take().or(upstream);
                let mut told = wire::ToolCall {
                    index: Some(index),
                    id: Some(id.unwrap_or_else(|| format!("call_{}_{index}", self.id))),
                    extra_content: state::of_dialect(&block.states, state::EXTRA_CONTENT).cloned(),
                    ..wire::ToolCall::default()
                };
                let name = Some((**name).to_owned());
                if *json {
                    told.kind = Some("function".to_owned());
                    told.function = Some(wire::FunctionCall {
                        name,
                        arguments: Value::String(String::new()),
                    });
                    if !block.speaks() {
                        // No arguments are an empty object to whoever parses them.
                        block.pieces = vec![Piece::Text("{}".to_owned())];
                    }
                } else {
                    told.kind = Some("custom".to_owned());
                    told.custom = Some(wire::CustomCall {
                        name,
                        input: String::new(),
                    });
                }
                out.push(self.chunk(calling(told)));
                block.told = Some(Kind::Call(index));
            }
            BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                ..
            } => {}
            BlockStart::Whole(content) => block.told = self.whole(content, out),
        }
        block.told.is_some()
    }

    /// Empty lines between words that had something else between them.
    fn separate(&mut self, out: &mut Vec<SseEvent>) {
        if self.spoke && self.last != Some(Kind::Text) {
            out.push(self.chunk(words("\n\n".to_owned())));
        }
        self.spoke = true;
    }

    /// Tells a block that comes whole.
    fn whole(&mut self, content: &Content, out: &mut Vec<SseEvent>) -> Option<Kind> {
        let text = match content {
            Content::Opaque(opaque) if is_audio(opaque) => {
                out.push(self.chunk(wire::Delta {
                    audio: Some(opaque.json.clone()),
                    ..wire::Delta::default()
                }));
                return Some(Kind::Other);
            }
            Content::Opaque(opaque) => opaque.fallback.as_deref().map(str::to_owned),
            Content::Audio(_) | Content::Document(_) | Content::Image(_) => in_words(content),
            Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolCall(_)
            | Content::ToolOutcome(_) => None,
        };
        let text = text.filter(|text| !text.trim().is_empty())?;
        self.separate(out);
        out.push(self.chunk(words(text)));
        Some(Kind::Text)
    }

    fn chunk(&self, delta: wire::Delta) -> SseEvent {
        self.event(vec![choice(delta, None)], None)
    }

    fn event(&self, choices: Vec<wire::ChoiceDelta>, usage: Option<wire::Usage>) -> SseEvent {
        event(&wire::Chunk {
            id: self.id.clone(),
            object: "chat.completion.chunk".to_owned(),
            created: self.created,
            model: self.model.clone(),
            choices,
            usage,
        })
    }
}

impl Waiting {
    /// Whether there is anything to tell.
    fn speaks(&self) -> bool {
        let mut texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            Piece::Annotation(_) => None,
        });
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

/// A piece of a block that has been begun.
fn piece(kind: Kind, start: &BlockStart, said: Piece) -> Option<wire::Delta> {
    Some(match (kind, said) {
        (Kind::Text, Piece::Text(text)) => words(text),
        (Kind::Text, Piece::Annotation(annotation)) => wire::Delta {
            annotations: Some(vec![annotation.json]),
            ..wire::Delta::default()
        },
        (Kind::Refusal, Piece::Text(text)) => wire::Delta {
            refusal: Some(text),
            ..wire::Delta::default()
        },
        (Kind::Thinking, Piece::Text(text)) => wire::Delta {
            reasoning_content: Some(text),
            ..wire::Delta::default()
        },
        (Kind::Call(index), Piece::Text(text)) => {
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
        (Kind::Other, _) | (_, Piece::Annotation(_)) => return None,
    })
}

fn words(text: String) -> wire::Delta {
    wire::Delta {
        content: Some(text),
        ..wire::Delta::default()
    }
}

fn calling(call: wire::ToolCall) -> wire::Delta {
    wire::Delta {
        tool_calls: Some(vec![call]),
        ..wire::Delta::default()
    }
}

fn choice(delta: wire::Delta, finish_reason: Option<&str>) -> wire::ChoiceDelta {
    wire::ChoiceDelta {
        index: 0,
        delta,
        logprobs: None,
        finish_reason: finish_reason.map(str::to_owned),
    }
}

fn event(body: &impl serde::Serialize) -> SseEvent {
    SseEvent {
        // Nothing in a chunk refuses to be written: all keys are text and all numbers finite.
        data: serde_json::to_string(body).unwrap_or_default(),
        event: None,
    }
}
