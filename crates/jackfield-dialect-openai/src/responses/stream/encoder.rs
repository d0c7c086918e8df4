//! Encodes the deltas of a reply as events for a client.

use std::collections::VecDeque;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::ReplyInfo;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::reply::ReplyEnd;
use serde_json::json;

use super::block_writer::BlockWriter;
use super::event_writer::EventWriter;
use crate::responses::reply::{self, item_id};
use crate::responses::wire::{Response, ResponseError};

/// Writes one streamed reply, delta by delta.
///
/// `response.created` and `response.in_progress` come first, then items strictly one after another: deltas of a
/// later block wait until the earlier ones have ended. Server tool calls stay open until their outcomes arrive.
/// Reasoning is written live if its id is known: if its owner has sent it, or uses another dialect. Otherwise it
/// waits for its end: an item's id must not change midway, which clients refuse, nor may that of encrypted
/// reasoning change at all, which its owner refuses. Content that this dialect cannot express is left out, as
/// [`reply::to_wire`] notes for the whole reply. Deltas that match no open block are ignored.
///
/// The events and their numbers depend on the content alone, not on its fragments: `sequence_number` counts them
/// one by one. So the last word of a text so far waits for the next one. After a retry of the reply, numbers
/// continue beyond any that the earlier attempt can have used.
#[derive(Debug)]
pub struct Encoder {
    begun: bool,
    calls: usize,
    out: EventWriter,
    pending_blocks: VecDeque<BlockWriter>,
}

/// The state of an incomplete response.
#[derive(Clone, Debug, PartialEq)]
pub enum IncompleteStatus {
    Cancelled,
    Failed(ResponseError),
    InProgress,
    Queued,
}

impl Encoder {
    /// An encoder for the reply that `about` describes.
    #[must_use]
    pub fn new(about: &ReplyInfo) -> Self {
        Self::after(about, None)
    }

    /// The same for a client that has all events up to this number.
    #[must_use]
    pub fn after(about: &ReplyInfo, number: Option<u64>) -> Self {
        Self {
            begun: false,
            calls: 0,
            out: EventWriter::new(about.clone(), number),
            pending_blocks: VecDeque::new(),
        }
    }

    /// The first events, unless they were written already: for servers that send them before any delta.
    pub fn begin(&mut self) -> Vec<SseEvent> {
        self.prepare();
        std::mem::take(&mut self.out.events)
    }

    /// The events for a delta. A call gets its upstream id, or an id of this stream if it has none.
    pub fn push(&mut self, delta: &Delta) -> Vec<SseEvent> {
        self.push_as(delta, None)
    }

    /// The events for a delta; `call` is the id of the call that starts with it.
    pub fn push_as(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        self.prepare();
        match delta {
            Delta::BlockStarted { index, start } => {
                let call = call.map(|id| id.as_str().to_owned());
                let call = call.unwrap_or_else(|| self.call_id(start));
                self.pending_blocks
                    .push_back(BlockWriter::new(*index, start.clone(), call));
            }
            Delta::AnnotationAdded { index, annotation } => {
                if let Some(block) = self.open_block(*index)
                    && reply::is_readable(annotation)
                {
                    block.annotations.push(annotation.json.clone());
                }
            }
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
            Delta::StateSet { index, state } => {
                if let Some(block) = self.open_block(*index) {
                    block.states.retain(|known| known.kind != state.kind);
                    block.states.push(state.clone());
                }
            }
        }
        self.flush();
        std::mem::take(&mut self.out.events)
    }

    /// Marks a retry of the reply after an attempt none of whose deltas were pushed here. Returns whether the
    /// client can go on: not if it has events of that attempt.
    pub fn restart(&mut self) -> bool {
        self.prepare();
        self.out.skip_attempt()
    }

    /// The last events of a complete reply.
    #[must_use]
    pub fn finish(mut self, end: &ReplyEnd) -> Vec<SseEvent> {
        self.prepare();
        self.end_blocks();
        let response = self.complete_response(end);
        let name = if response.incomplete_details.is_some() {
            "response.incomplete"
        } else {
            "response.completed"
        };
        self.out.push(name, json!({ "response": response }));
        self.out.events
    }

    #[must_use]
    pub fn into_response(mut self, end: &ReplyEnd) -> Response {
        self.end_blocks();
        self.complete_response(end)
    }

    /// The last events of an interrupted reply. Items stay open, so that clients do not take them for complete.
    #[must_use]
    pub fn fail(self, failure: &ModelFailure) -> Vec<SseEvent> {
        self.fail_with(reply::error_to_wire(failure))
    }

    /// The same, with this error.
    #[must_use]
    pub fn fail_with(mut self, error: ResponseError) -> Vec<SseEvent> {
        self.prepare();
        if let Some(block) = self.pending_blocks.front_mut() {
            block.write_rest(&mut self.out);
        }
        let response = self.incomplete_response(&IncompleteStatus::Failed(error));
        self.out
            .push("response.failed", json!({ "response": response }));
        self.out.events
    }

    /// The response so far, with the items that have ended.
    #[must_use]
    pub fn incomplete_response(&self, status: &IncompleteStatus) -> Response {
        let (status, error) = match status {
            IncompleteStatus::Cancelled => ("cancelled", None),
            IncompleteStatus::Failed(error) => ("failed", Some(error.clone())),
            IncompleteStatus::InProgress => ("in_progress", None),
            IncompleteStatus::Queued => ("queued", None),
        };
        Response {
            error,
            output: self.out.finished_items(),
            status: status.to_owned(),
            ..self.out.empty_response()
        }
    }

    fn complete_response(&mut self, end: &ReplyEnd) -> Response {
        let output = self.out.take_items();
        let flags = reply::content_flags(&output);
        let (status, incomplete_details) = reply::status(&end.finish, flags);
        Response {
            incomplete_details,
            output,
            status: status.to_owned(),
            usage: end.usage.as_ref().map(reply::usage_to_wire),
            ..self.out.empty_response()
        }
    }

    fn end_blocks(&mut self) {
        for block in &mut self.pending_blocks {
            block.ended = true;
        }
        self.flush();
        self.out.finish_server_calls();
    }

    fn prepare(&mut self) {
        if self.begun {
            return;
        }
        self.begun = true;
        for name in ["response.created", "response.in_progress"] {
            let response = self.out.empty_response();
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
                item_id("call", &self.out.about.id, self.calls)
            }
        }
    }

    fn open_block(&mut self, index: u32) -> Option<&mut BlockWriter> {
        let mut blocks = self.pending_blocks.iter_mut().rev();
        blocks.find(|block| block.index == index && !block.ended)
    }

    /// Writes what is available of the first block, and of the following ones once it has ended.
    fn flush(&mut self) {
        while let Some(block) = self.pending_blocks.front_mut() {
            block.write_new(&mut self.out);
            if !block.ended {
                return;
            }
            self.pending_blocks.pop_front();
        }
    }
}
