//! Writes a segment of a turn as the fragments of one reply.

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{EncodeReply, ReplyInfo, ServeError};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::reply::ReplyEnd;

use super::errors;
use crate::stream::Encoder;

/// Writes one reply with any number of rounds.
#[derive(Debug)]
pub(super) struct Segment(Encoder);

impl Segment {
    pub(super) fn new(about: &ReplyInfo) -> Self {
        Self(Encoder::new(&*about.id, &*about.model))
    }
}

impl EncodeReply for Segment {
    fn begin(&mut self) -> Vec<SseEvent> {
        Vec::new()
    }

    fn push(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        self.0.push_as(delta, call)
    }

    /// Empty lines: the dialect has no event that says nothing.
    fn keep_alive(&mut self) -> String {
        // A comment would be a piece of JSON to the vendor's SDK for Python, which then fails.
        "\n\n".to_owned()
    }

    fn finish(self: Box<Self>, end: &ReplyEnd) -> Vec<SseEvent> {
        self.0.finish(end)
    }

    fn fail(self: Box<Self>, error: &ServeError, request_id: &str) -> Vec<SseEvent> {
        let (_, body) = errors::to_wire(error, request_id);
        vec![self.0.fail(&body)]
    }
}
