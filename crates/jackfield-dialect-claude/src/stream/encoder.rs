//! Encodes the deltas of a reply as events for a client (Claude Messages API, 2026-10-21, streaming).

mod pending_block;

use std::collections::VecDeque;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::usage::Usage;

use self::pending_block::{BlockFragment, PendingBlock};
use crate::DIALECT;
use crate::error;
use crate::reply::{state, stop_reason, usage_to_wire};
use crate::wire::{ErrorBody, Event, Message, MessageDelta};

#[must_use]
pub fn ping() -> SseEvent {
    event(&Event::Ping {})
}

/// Writes one streamed reply, delta by delta.
///
/// `message_start` comes first, and blocks come strictly one after another: deltas of a later block wait until the
/// earlier ones have ended. Content that this dialect cannot express is left out, as [`crate::reply::to_wire`]
/// notes for the whole reply. Deltas that match no open block are ignored.
#[derive(Debug)]
pub struct Encoder {
    begun: bool,
    calls: u32,
    id: String,
    model: String,
    next_index: u32,
    usage: Usage,
    pending_blocks: VecDeque<PendingBlock>,
}

impl Encoder {
    /// An encoder for the reply with this id; `model` is the name that the client knows.
    #[must_use]
    pub fn new(id: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            begun: false,
            calls: 0,
            id: id.into(),
            model: model.into(),
            next_index: 0,
            usage: Usage::default(),
            pending_blocks: VecDeque::new(),
        }
    }

    /// Sends the input usage in the first event, if it is known that early.
    #[must_use]
    pub const fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// The first event, unless it was written already: for servers that send it before any delta.
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

    /// The events for a delta. A call gets its upstream id, or an id of this stream if it has none.
    pub fn push(&mut self, delta: &Delta) -> Vec<SseEvent> {
        self.push_as(delta, None)
    }

    /// The events for a delta; `call` is the id of the call that starts with it.
    pub fn push_as(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        let mut out = self.begin();
        match delta {
            Delta::BlockStarted { index, start } => {
                let call = call.map(|id| id.as_str().to_owned());
                let call = call.unwrap_or_else(|| self.call_id(start));
                self.pending_blocks.push_back(PendingBlock {
                    call,
                    ended: false,
                    index: *index,
                    pieces: Vec::new(),
                    start: start.clone(),
                    states: Vec::new(),
                    started: false,
                });
            }
            Delta::AnnotationAdded { index, annotation } => {
                if let Some(block) = self.open_block(*index)
                    && *annotation.dialect == *DIALECT
                    && annotation.json.is_object()
                {
                    block
                        .pieces
                        .push(BlockFragment::Annotation(annotation.clone()));
                }
            }
            Delta::ArgumentsAppended { index, text } | Delta::TextAppended { index, text } => {
                if let Some(block) = self.open_block(*index)
                    && !text.is_empty()
                {
                    block.pieces.push(BlockFragment::Text((**text).to_owned()));
                }
            }
            Delta::BlockEnded { index } => {
                if let Some(block) = self.open_block(*index) {
                    block.ended = true;
                }
            }
            Delta::StateSet { index, state } => {
                if let Some(block) = self.open_block(*index) {
                    block.states.retain(|known| known.kind != state.kind);
                    block.states.push(state.clone());
                }
            }
        }
        self.flush(&mut out);
        out
    }

    /// The last events of a complete reply.
    #[must_use]
    pub fn finish(mut self, end: &ReplyEnd) -> Vec<SseEvent> {
        let mut out = self.begin();
        for block in &mut self.pending_blocks {
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

    /// The last event of an interrupted reply. Blocks stay open, so that clients do not take them for complete.
    #[must_use]
    pub fn fail(self, failure: &ModelFailure, request_id: Option<&str>) -> SseEvent {
        let (_, body) = error::to_wire(failure, request_id);
        self.fail_with(body)
    }

    /// The same with an error in the vendor's form.
    pub(crate) fn fail_with(self, body: ErrorBody) -> SseEvent {
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

    fn open_block(&mut self, index: u32) -> Option<&mut PendingBlock> {
        let mut blocks = self.pending_blocks.iter_mut().rev();
        blocks.find(|block| block.index == index && !block.ended)
    }

    /// Writes what is available of the first block, and of the following ones once it has ended.
    fn flush(&mut self, out: &mut Vec<SseEvent>) {
        while let Some(block) = self.pending_blocks.front_mut() {
            block.write_new(self.next_index, out);
            if !block.ended {
                return;
            }
            if block.started {
                self.next_index += 1;
            }
            self.pending_blocks.pop_front();
        }
    }
}

/// An event with its name.
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
        // Serialization cannot fail: all keys are strings and all numbers finite.
        data: serde_json::to_string(event).unwrap_or_default(),
        event: Some(name),
    }
}
