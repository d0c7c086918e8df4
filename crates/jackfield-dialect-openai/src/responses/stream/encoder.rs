//! Pieces of a reply as events for a client.

use std::collections::VecDeque;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::reply::ReplyEnd;
use serde_json::{Value, json};

use super::telling::Waiting;
use crate::responses::DIALECT;
use crate::responses::reply::{self, empty, item_id};
use crate::responses::wire::{Item, Response};

/// Writes one streamed reply, piece by piece.
///
/// `response.created` and `response.in_progress` come first, then items strictly one after another: pieces
/// of a later block wait until the earlier ones have ended. Reasoning is told as it comes where it is known
/// what to call it: where its owner has said so, or speaks [another dialect](Self::from_dialect). Otherwise
/// it waits for its end: neither may an item's id change in the middle, which clients refuse, nor that of
/// encrypted reasoning at all, which its owner refuses. What this dialect cannot tell is left out, as
/// [`reply::to_wire`] notes for the whole reply. Pieces that fit no open block are ignored.
#[derive(Debug)]
pub struct Encoder {
    begun: bool,
    calls: usize,
    out: Out,
    waiting: VecDeque<Waiting>,
}

/// What was written so far.
#[derive(Debug)]
pub(super) struct Out {
    pub(super) created: u64,
    pub(super) events: Vec<SseEvent>,
    /// Whether the reply comes in another dialect, in which there are no items.
    pub(super) foreign: bool,
    pub(super) id: String,
    pub(super) items: Vec<Item>,
    pub(super) model: String,
    sequence: u64,
}

impl Encoder {
    /// An encoder of the reply with this id, by what the client knows as this model, made at this time in
    /// seconds since 1970.
    #[must_use]
    pub fn new(id: impl Into<String>, model: impl Into<String>, created: u64) -> Self {
        Self {
            begun: false,
            calls: 0,
            out: Out {
                created,
                events: Vec::new(),
                foreign: false,
                id: id.into(),
                items: Vec::new(),
                model: model.into(),
                sequence: 0,
            },
            waiting: VecDeque::new(),
        }
    }

    /// The same, for a reply that comes in this dialect: what comes in another one has no items that have
    /// ids already.
    #[must_use]
    pub fn from_dialect(mut self, dialect: &str) -> Self {
        self.out.foreign = dialect != DIALECT;
        self
    }

    /// The first events, unless they have been written: for a server that wants them out before any piece.
    pub fn begin(&mut self) -> Vec<SseEvent> {
        self.prepare();
        std::mem::take(&mut self.out.events)
    }

    /// The events for a piece. A call gets its upstream id, and one of this stream if it has none.
    pub fn push(&mut self, delta: &Delta) -> Vec<SseEvent> {
        self.push_as(delta, None)
    }

    /// The events for a piece; `call` is the id of the call that begins with it.
    pub fn push_as(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        self.prepare();
        match delta {
            Delta::BlockStarted { index, start } => {
                let call = call.map(|id| id.as_str().to_owned());
                let call = call.unwrap_or_else(|| self.call_id(start));
                self.waiting
                    .push_back(Waiting::new(*index, start.clone(), call));
            }
            Delta::AnnotationAdded { index, annotation } => {
                if let Some(block) = self.open(*index)
                    && reply::is_readable(annotation)
                {
                    block.annotations.push(annotation.json.clone());
                }
            }
            Delta::ArgumentsAppended { index, text } | Delta::TextAppended { index, text } => {
                if let Some(block) = self.open(*index) {
                    block.text.push_str(text);
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
        self.flush();
        std::mem::take(&mut self.out.events)
    }

    /// The last events of a reply that is whole.
    #[must_use]
    pub fn finish(mut self, end: &ReplyEnd) -> Vec<SseEvent> {
        self.prepare();
        for block in &mut self.waiting {
            block.ended = true;
        }
        self.flush();
        let (status, incomplete_details) = reply::status(&end.finish);
        let name = if incomplete_details.is_some() {
            "response.incomplete"
        } else {
            "response.completed"
        };
        let response = Response {
            incomplete_details,
            output: std::mem::take(&mut self.out.items),
            status: status.to_owned(),
            usage: end.usage.as_ref().map(reply::usage_to_wire),
            ..self.out.so_far()
        };
        self.out.push(name, json!({ "response": response }));
        self.out.events
    }

    /// The last events of a reply that broke off. Items stay open, so that nobody takes them for whole.
    #[must_use]
    pub fn fail(mut self, failure: &ModelFailure) -> Vec<SseEvent> {
        self.prepare();
        let response = Response {
            error: Some(reply::error_to_wire(failure)),
            output: std::mem::take(&mut self.out.items),
            status: "failed".to_owned(),
            ..self.out.so_far()
        };
        self.out
            .push("response.failed", json!({ "response": response }));
        self.out.events
    }

    fn prepare(&mut self) {
        if self.begun {
            return;
        }
        self.begun = true;
        for name in ["response.created", "response.in_progress"] {
            let response = self.out.so_far();
            self.out.push(name, json!({ "response": response }));
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
                item_id("call", &self.out.id, self.calls)
            }
        }
    }

    fn open(&mut self, index: u32) -> Option<&mut Waiting> {
        let mut blocks = self.waiting.iter_mut().rev();
        blocks.find(|block| block.index == index && !block.ended)
    }

    /// Tells what can be told of the first block, and of those after it once it has ended.
    fn flush(&mut self) {
        while let Some(block) = self.waiting.front_mut() {
            block.tell(&mut self.out);
            if !block.ended {
                return;
            }
            self.waiting.pop_front();
        }
    }
}

impl Out {
    /// The response as it begins.
    fn so_far(&self) -> Response {
        empty(&self.id, &self.model, self.created)
    }

    /// Writes an event of these fields.
    pub(super) fn push(&mut self, name: &'static str, fields: Value) {
        let mut event = json!({ "type": name, "sequence_number": self.sequence });
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        self.sequence += 1;
        self.events.push(SseEvent {
            data: event.to_string(),
            event: Some(name),
        });
    }

    /// Writes an event about the item that is being told.
    pub(super) fn about(&mut self, name: &'static str, id: &str, fields: Value) {
        let mut about = json!({ "item_id": id, "output_index": self.items.len() });
        if let (Value::Object(about), Value::Object(fields)) = (&mut about, fields) {
            about.extend(fields);
        }
        self.push(name, about);
    }

    pub(super) fn added(&mut self, item: &Item) {
        let place = self.items.len();
        let fields = json!({ "output_index": place, "item": item });
        self.push("response.output_item.added", fields);
    }

    pub(super) fn done(&mut self, item: Item) {
        let place = self.items.len();
        let fields = json!({ "output_index": place, "item": item });
        self.push("response.output_item.done", fields);
        self.items.push(item);
    }
}
