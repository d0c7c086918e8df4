//! Serving: Claude Messages as a server's API, for any provider behind it.
//!
//! Features that a client may request of its server and that a turn cannot carry are refused by name: a beta, a
//! field, a file by its id; for a provider of another dialect also a tool that the vendor runs. Server tool calls are sent as `mcp_tool_use` and
//! `mcp_tool_result`, and recognized when a client sends its history back.

mod betas;
mod encoder;
mod errors;
mod gateway_fields;
mod tokens;

use jackfield_dialect_kit::serve::{
    EncodeReply, ErrorResponse, ReplyInfo, ServeDialect, ServeError, ServeErrorKind,
};
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::Reply;

use crate::DIALECT;
use crate::reply;
use crate::request::{self, Incoming};

/// The Claude Messages dialect of a server (Claude Messages API, 2026-10-21).
///
/// `anthropic-version` is ignored: the versions do not differ in form, and the provider has its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClaudeServer;

impl ClaudeServer {
    /// Parses a request for `count_tokens`, which lacks the fields that only a reply needs.
    ///
    /// # Errors
    ///
    /// As [`ServeDialect::request`].
    pub fn count_request(
        &self,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
        owner: &dyn Fn(&str) -> StateOwner,
    ) -> Result<Incoming, ServeError> {
        incoming(header, tokens::parse_body(body)?, owner)
    }

    /// The response to `count_tokens`: an [estimate](jackfield_domain::estimate), as its note says.
    #[must_use]
    pub fn count_response(&self, incoming: &Incoming) -> (Vec<u8>, Vec<Note>) {
        tokens::count_response(incoming)
    }
}

impl ServeDialect for ClaudeServer {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn request(
        &self,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
        owner: &dyn Fn(&str) -> StateOwner,
    ) -> Result<Incoming, ServeError> {
        incoming(header, request::parse(body)?, owner)
    }

    fn reply(&self, reply: &Reply, about: &ReplyInfo) -> (Vec<u8>, Vec<Note>) {
        let (message, notes) = reply::to_wire(reply, &about.model, &id(about));
        // Serialization cannot fail: all keys are strings and all numbers finite.
        (serde_json::to_vec(&message).unwrap_or_default(), notes)
    }

    fn encoder(&self, about: &ReplyInfo) -> Box<dyn EncodeReply> {
        Box::new(encoder::Segment::new(id(about), &about.model))
    }

    fn error(&self, error: &ServeError, request_id: &str) -> ErrorResponse {
        let (status, body) = errors::to_wire(error, request_id);
        ErrorResponse {
            body: serde_json::to_vec(&body).unwrap_or_default(),
            retry_after: error.kind.retry_after(),
            status,
        }
    }
}

fn incoming(
    header: &dyn Fn(&str) -> Option<String>,
    mut body: crate::wire::Request,
    owner: &dyn Fn(&str) -> StateOwner,
) -> Result<Incoming, ServeError> {
    let owner = owner(&body.model);
    // Without a provider of this dialect the owner has no endpoint.
    let is_asked = !owner.endpoint.is_empty();
    let mut notes = if is_asked {
        Vec::new()
    } else {
        gateway_fields::leave_out_hosted(&mut body)
    };
    gateway_fields::check(&mut body, is_asked)?;
    let betas = betas::read(header("anthropic-beta").as_deref(), is_asked)?;
    let mut incoming = request::from_wire(body, &owner)?;
    if incoming.messages.is_empty() {
        let reason = "at least one user message or tool result is needed";
        return Err(ServeError::new(ServeErrorKind::Invalid, reason).at("messages"));
    }
    notes.extend(betas.notes);
    notes.append(&mut incoming.notes);
    incoming.notes = notes;
    incoming.settings.extensions.extend(betas.forwarded);
    Ok(incoming)
}

fn id(about: &ReplyInfo) -> String {
    format!("msg_{}", about.id)
}
