//! The Responses dialect of a server: requests, replies, streams, and stored responses.
//!
//! The ids of a response and of its items derive from the id in [`ReplyInfo`], and lead back to it. Actions of the
//! vendor beyond answering (its own tools, stored conversations and prompts, calls of servers) are refused by name.

mod body;
mod echo;
mod input_items;
mod refusals;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::incoming::Incoming;
use jackfield_dialect_kit::serve::{
    EncodeReply, ErrorResponse, ReplyInfo, ServeDialect, ServeError, ServeErrorKind,
};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{Reply, ReplyEnd};
use serde_json::json;

use super::DIALECT;
use super::reply::{error_to_wire, response_id, to_wire, without_upstream};
use super::stream::{Encoder, IncompleteStatus};
use super::wire::{Response, ResponseError};
use crate::serve_error;

pub use input_items::{InputItemsQuery, input_items};

/// The Responses dialect of a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Responses;

impl ServeDialect for Responses {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn request(
        &self,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
        owner: &dyn Fn(&str) -> StateOwner,
    ) -> Result<Incoming, ServeError> {
        refusals::betas(header)?;
        body::read(body, owner)
    }

    fn reply(&self, reply: &Reply, about: &ReplyInfo) -> (Vec<u8>, Vec<Note>) {
        let (response, notes) = to_wire(reply, about);
        (to_body(&response), notes)
    }

    fn encoder(&self, about: &ReplyInfo) -> Box<dyn EncodeReply> {
        Box::new(EncoderAdapter(Encoder::new(about)))
    }

    fn error(&self, error: &ServeError, request_id: &str) -> ErrorResponse {
        serve_error::to_response(error, request_id)
    }
}

/// An encoder of a response for a client that has all events up to this number.
#[must_use]
pub fn encoder_after(about: &ReplyInfo, number: Option<u64>) -> Box<dyn EncodeReply> {
    Box::new(EncoderAdapter(Encoder::after(about, number)))
}

/// The body of an incomplete response, from the deltas so far.
#[must_use]
pub fn incomplete_body<'a>(
    about: &ReplyInfo,
    pieces: impl IntoIterator<Item = (&'a Delta, Option<&'a ToolCallId>)>,
    status: &IncompleteStatus,
) -> Vec<u8> {
    let mut encoder = Encoder::after(about, Some(u64::MAX));
    for (delta, call) in pieces {
        drop(encoder.push_as(delta, call));
    }
    to_body(&encoder.incomplete_response(status))
}

/// The body of a complete response, from its deltas.
#[must_use]
pub fn complete_body<'a>(
    about: &ReplyInfo,
    pieces: impl IntoIterator<Item = (&'a Delta, Option<&'a ToolCallId>)>,
    end: &ReplyEnd,
) -> Vec<u8> {
    let mut encoder = Encoder::after(about, Some(u64::MAX));
    for (delta, call) in pieces {
        drop(encoder.push_as(delta, call));
    }
    to_body(&encoder.into_response(end))
}

/// The error of a failed response.
#[must_use]
pub fn to_response_error(error: &ServeError) -> ResponseError {
    let code = match &error.kind {
        ServeErrorKind::Model(failure) => return error_to_wire(failure),
        ServeErrorKind::TooMany { .. } => "rate_limit_exceeded",
        ServeErrorKind::Conflict
        | ServeErrorKind::Invalid
        | ServeErrorKind::NoSuchAddress
        | ServeErrorKind::NoSuchCall
        | ServeErrorKind::NoSuchModel
        | ServeErrorKind::NoSuchReply
        | ServeErrorKind::NoSuchSession
        | ServeErrorKind::ResultsMissing
        | ServeErrorKind::Strict
        | ServeErrorKind::ThreadUnsupported
        | ServeErrorKind::TooLarge
        | ServeErrorKind::Unsupported
        | ServeErrorKind::UnsupportedEncoding => "invalid_prompt",
        ServeErrorKind::Busy
        | ServeErrorKind::Cancelled
        | ServeErrorKind::ClientExpired
        | ServeErrorKind::Exhausted { .. }
        | ServeErrorKind::Forbidden
        | ServeErrorKind::Internal
        | ServeErrorKind::LimitReached
        | ServeErrorKind::TooSlow
        | ServeErrorKind::Unauthenticated
        | ServeErrorKind::Unavailable => "server_error",
    };
    ResponseError {
        code: code.to_owned(),
        message: error.message.clone(),
    }
}

/// The body that confirms the deletion of a response.
#[must_use]
pub fn deletion_body(id: &str) -> Vec<u8> {
    let body = json!({ "id": response_id(id), "object": "response", "deleted": true });
    body.to_string().into_bytes()
}

/// The reply's own id, from a response's or item's id that a client has.
#[must_use]
pub fn reply_id(response_id: &str) -> Option<&str> {
    response_id
        .strip_prefix("resp_")
        .filter(|id| !id.is_empty())
}

/// The id of the response that contains the item with this id.
#[must_use]
pub fn response_of_item(item: &str) -> Option<&str> {
    let (item, _) = without_upstream(item);
    let (_, rest) = ITEMS.iter().find_map(|prefix| {
        let rest = item.strip_prefix(prefix)?;
        Some((prefix, rest.strip_prefix('_')?))
    })?;
    let (id, place) = rest.rsplit_once('_')?;
    let is_place = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
    (is_place && !id.is_empty()).then_some(id)
}

/// The prefixes of our item ids.
const ITEMS: [&str; 5] = ["ctc", "fc", "mcp", "msg", "rs"];

fn to_body(response: &Response) -> Vec<u8> {
    // Serialization cannot fail: all keys are strings.
    serde_json::to_vec(response).unwrap_or_default()
}

/// Adapts an encoder to the trait.
#[derive(Debug)]
struct EncoderAdapter(Encoder);

impl EncodeReply for EncoderAdapter {
    fn begin(&mut self) -> Vec<SseEvent> {
        self.0.begin()
    }

    fn push(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        self.0.push_as(delta, call)
    }

    fn restart(&mut self) -> bool {
        self.0.restart()
    }

    fn keep_alive(&mut self) -> String {
        ": keep-alive\n\n".to_owned()
    }

    fn finish(self: Box<Self>, end: &ReplyEnd) -> Vec<SseEvent> {
        self.0.finish(end)
    }

    fn fail(self: Box<Self>, error: &ServeError, _request_id: &str) -> Vec<SseEvent> {
        self.0.fail_with(to_response_error(error))
    }
}
