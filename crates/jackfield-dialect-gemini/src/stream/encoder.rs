//! Encodes the deltas of a reply as fragments for a client.

use std::collections::VecDeque;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::tool_input::{JsonInput, ToolInput};

use crate::reply::{
    arguments, call_part, candidate_fields, fallback, finish_reason, media_part, plain, state,
    thought, usage_to_wire,
};
use crate::wire::{Candidate, Content as WireContent, ErrorBody, Part, Reply};

/// Writes one streamed reply, delta by delta.
///
/// Parts come strictly one after another: deltas of a later block wait until the earlier ones have ended. A call comes
/// whole, and so does a text that is signed. Content that this dialect cannot express is left out, as
/// [`crate::reply::to_wire`] notes for the whole reply. Deltas that match no open block are ignored.
#[derive(Debug)]
pub struct Encoder {
    calls: u32,
    id: String,
    model: String,
    pending: VecDeque<PendingBlock>,
}

/// A block that was not written completely.
#[derive(Debug)]
struct PendingBlock {
    call: String,
    ended: bool,
    /// The block's index in the domain.
    index: u32,
    start: BlockStart,
    states: Vec<OpaqueState>,
    /// The text that was not written yet.
    text: String,
}

impl Encoder {
    /// An encoder for the reply with this id; `model` is the name that the client knows.
    #[must_use]
    pub fn new(id: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            calls: 0,
            id: id.into(),
            model: model.into(),
            pending: VecDeque::new(),
        }
    }

    /// The events for a delta. A call gets its upstream id, or an id of this stream if it has none.
    pub fn push(&mut self, delta: &Delta) -> Vec<SseEvent> {
        self.push_as(delta, None)
    }

    /// The events for a delta; `call` is the id of the call that starts with it.
    pub fn push_as(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        match delta {
            Delta::AnnotationAdded { .. } => {}
            Delta::ArgumentsAppended { index, text } | Delta::TextAppended { index, text } => {
                if let Some(block) = self.open_block(*index) {
                    block.text.push_str(text);
                }
            }
            Delta::BlockEnded { index } => {
                if let Some(block) = self.open_block(*index) {
                    block.ended = true;
                }
            }
            Delta::BlockStarted { index, start } => {
                let call = call.map(|id| id.as_str().to_owned());
                let call = call.unwrap_or_else(|| self.call_id(start));
                self.pending.push_back(PendingBlock {
                    call,
                    ended: false,
                    index: *index,
                    start: start.clone(),
                    states: Vec::new(),
                    text: String::new(),
                });
            }
            Delta::StateSet { index, state } => {
                if let Some(block) = self.open_block(*index) {
                    block.states.retain(|known| known.kind != state.kind);
                    block.states.push(state.clone());
                }
            }
        }
        let parts = self.flush();
        if parts.is_empty() {
            return Vec::new();
        }
        let fragment = self.fragment(Candidate {
            content: Some(content(parts)),
            index: Some(0),
            ..Candidate::default()
        });
        vec![event(&fragment)]
    }

    /// The last event of a complete reply.
    #[must_use]
    pub fn finish(mut self, end: &ReplyEnd) -> Vec<SseEvent> {
        for block in &mut self.pending {
            block.ended = true;
        }
        let mut parts = self.flush();
        if parts.is_empty() {
            // The vendor's last fragment has an empty text, and its SDKs expect parts.
            parts.push(plain(""));
        }
        let mut fragment = self.fragment(Candidate {
            content: Some(content(parts)),
            finish_reason: Some(finish_reason(&end.finish).to_owned()),
            finish_message: None,
            index: Some(0),
            extra: candidate_fields(&end.opaque),
        });
        fragment.usage_metadata = Some(usage_to_wire(&end.usage.unwrap_or_default()));
        vec![event(&fragment)]
    }

    /// The last event of an interrupted reply.
    #[must_use]
    pub fn fail(self, body: &ErrorBody) -> SseEvent {
        SseEvent {
            data: serde_json::to_string(body).unwrap_or_default(),
            event: None,
        }
    }

    fn fragment(&self, candidate: Candidate) -> Reply {
        Reply {
            candidates: Some(vec![candidate]),
            model_version: Some(self.model.clone()),
            response_id: Some(self.id.clone()),
            ..Reply::default()
        }
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
                format!("call_{}_{}", self.id, self.calls)
            }
        }
    }

    fn open_block(&mut self, index: u32) -> Option<&mut PendingBlock> {
        let mut blocks = self.pending.iter_mut().rev();
        blocks.find(|block| block.index == index && !block.ended)
    }

    /// What can be written of the first block, and of the following ones once it has ended.
    fn flush(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(block) = self.pending.front_mut() {
            parts.extend(block.write_new());
            if !block.ended {
                break;
            }
            self.pending.pop_front();
        }
        parts
    }
}

impl PendingBlock {
    /// The next part of the block, if there is one by now.
    fn write_new(&mut self) -> Option<Part> {
        let part = match &self.start {
            BlockStart::Refusal | BlockStart::Text => return self.write_text(plain),
            BlockStart::Thinking { redacted: false } => return self.write_text(thought),
            _ if !self.ended => return None,
            BlockStart::Thinking { redacted: true }
            | BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                ..
            } => return None,
            BlockStart::ToolCall { json, name, .. } => {
                let input = if *json {
                    ToolInput::Json(JsonInput::parse(&self.text))
                } else {
                    ToolInput::Text(self.text.as_str().into())
                };
                // The whole reply has the notes on its losses.
                let args = arguments(&input, "", &mut Notes::default());
                call_part(&self.call, name, args)
            }
            BlockStart::Whole(Content::Opaque(opaque)) => match state::part_of(opaque) {
                Some(part) => return Some(part),
                None => plain(fallback(opaque)?),
            },
            BlockStart::Whole(content) => media_part(content)?.0,
        };
        Some(Part {
            thought_signature: state::signature(&self.states),
            ..part
        })
    }

    /// A text that is signed comes whole; one whose signature comes late is signed by an empty part behind it.
    fn write_text(&mut self, part: fn(&str) -> Part) -> Option<Part> {
        let is_refusal = matches!(self.start, BlockStart::Refusal);
        let signature = state::signature(&self.states).filter(|_| !is_refusal);
        if signature.is_some() && !self.ended {
            return None;
        }
        if self.text.is_empty() && signature.is_none() {
            return None;
        }
        Some(Part {
            thought_signature: signature,
            ..part(&std::mem::take(&mut self.text))
        })
    }
}

fn content(parts: Vec<Part>) -> WireContent {
    WireContent {
        role: Some("model".to_owned()),
        parts: Some(parts),
    }
}

fn event(fragment: &Reply) -> SseEvent {
    SseEvent {
        // Serialization cannot fail: all keys are strings and all numbers finite.
        data: serde_json::to_string(fragment).unwrap_or_default(),
        event: None,
    }
}
