//! Pieces of a reply as events for a client.

use std::collections::VecDeque;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::About;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::reply::ReplyEnd;
use serde_json::json;

use super::block_writer::Waiting;
use super::out::Out;
use crate::responses::reply::{self, item_id};
use crate::responses::wire::{Response, ResponseError};

/// Writes one streamed reply, piece by piece.
///
/// `response.created` and `response.in_progress` come first, then items strictly one after another: pieces
/// of a later block wait until the earlier ones have ended. Calls of tools that the server runs stay open
/// until their outcomes come. Reasoning is told as it comes where it is known what to call it: where its
/// owner has said so, or speaks another dialect. Otherwise it waits for its end: neither may an item's id
/// change in the middle, which clients refuse, nor that of encrypted reasoning at all, which its owner
/// refuses. What this dialect cannot tell is left out, as [`reply::to_wire`] notes for the whole reply.
/// Pieces that fit no open block are ignored.
///
/// The events depend on what is told and not on how it was cut, and so do their numbers: `sequence_number`
/// counts them one by one. The last word of a text so far waits for the next one, therefore. Behind a try at
/// the reply that was asked for again, numbers go on where none of its events can have been.
#[derive(Debug)]
pub struct Encoder {
    begun: bool,
    calls: usize,
    out: Out,
    waiting: VecDeque<Waiting>,
}

/// Where a response stands that is not whole.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Failed(ResponseError),
    /// It is worked at.
    InProgress,
    /// Nobody has begun with it.
    Queued,
}

impl Encoder {
    /// An encoder of the reply that this is about.
    #[must_use]
    pub fn new(about: &About) -> Self {
        Self::after(about, None)
    }

    /// The same for a client that has everything up to the event of this number.
    #[must_use]
    pub fn after(about: &About, number: Option<u64>) -> Self {
        Self {
            begun: false,
            calls: 0,
            out: Out::new(about.clone(), number),
            waiting: VecDeque::new(),
        }
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

    /// A try at the reply is asked for again, of which nothing was pushed. Says whether the reader can go on: not
    /// if it has events of that try.
    pub fn asked_again(&mut self) -> bool {
        self.prepare();
        self.out.pass_over()
    }

    /// The last events of a reply that is whole.
    #[must_use]
    pub fn finish(mut self, end: &ReplyEnd) -> Vec<SseEvent> {
        self.prepare();
        self.close();
        let response = self.whole(end);
        let name = if response.incomplete_details.is_some() {
            "response.incomplete"
        } else {
            "response.completed"
        };
        self.out.push(name, json!({ "response": response }));
        self.out.events
    }

    /// The whole response.
    #[must_use]
    pub fn into_response(mut self, end: &ReplyEnd) -> Response {
        self.close();
        self.whole(end)
    }

    /// The last events of a reply that broke off. Items stay open, so that nobody takes them for whole.
    #[must_use]
    pub fn fail(self, failure: &ModelFailure) -> Vec<SseEvent> {
        self.broke_off(reply::error_to_wire(failure))
    }

    /// The same, for this error.
    #[must_use]
    pub fn broke_off(mut self, error: ResponseError) -> Vec<SseEvent> {
        self.prepare();
        if let Some(block) = self.waiting.front_mut() {
            block.tell_rest(&mut self.out);
        }
        let response = self.standing(&Standing::Failed(error));
        self.out
            .push("response.failed", json!({ "response": response }));
        self.out.events
    }

    /// The response as far as it was told, with the items that have ended.
    #[must_use]
    pub fn standing(&self, standing: &Standing) -> Response {
        let (status, error) = match standing {
            Standing::Cancelled => ("cancelled", None),
            Standing::Failed(error) => ("failed", Some(error.clone())),
            Standing::InProgress => ("in_progress", None),
            Standing::Queued => ("queued", None),
        };
        Response {
            error,
            output: self.out.ended(),
            status: status.to_owned(),
            ..self.out.so_far()
        }
    }

    fn whole(&mut self, end: &ReplyEnd) -> Response {
        let (status, incomplete_details) = reply::status(&end.finish);
        Response {
            incomplete_details,
            output: self.out.take_items(),
            status: status.to_owned(),
            usage: end.usage.as_ref().map(reply::usage_to_wire),
            ..self.out.so_far()
        }
    }

    /// Nothing more comes.
    fn close(&mut self) {
        for block in &mut self.waiting {
            block.ended = true;
        }
        self.flush();
        self.out.nothing_more();
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
                item_id("call", &self.out.about.id, self.calls)
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
