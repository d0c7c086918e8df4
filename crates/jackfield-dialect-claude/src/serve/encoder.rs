//! Writes a segment of a turn as the events of one message.

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{EncodeReply, ServeError};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::reply::ReplyEnd;

use super::errors;
use crate::stream::{Encoder, ping};

/// Writes one message with any number of rounds.
#[derive(Debug)]
pub(super) struct Segment(Encoder);

impl Segment {
    pub(super) fn new(id: String, model: &str) -> Self {
        Self(Encoder::new(id, model))
    }
}

impl EncodeReply for Segment {
    fn begin(&mut self) -> Vec<SseEvent> {
        self.0.begin()
    }

    fn push(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        self.0.push_as(delta, call)
    }

    fn keep_alive(&mut self) -> String {
        ping().to_string()
    }

    fn finish(self: Box<Self>, end: &ReplyEnd) -> Vec<SseEvent> {
        self.0.finish(end)
    }

    fn fail(self: Box<Self>, error: &ServeError, request_id: &str) -> Vec<SseEvent> {
        let (_, body) = errors::to_wire(error, request_id);
        vec![self.0.fail_with(body)]
    }
}
