//! Serving Chat Completions as Jackfield's own endpoint, for any provider behind it.
//!
//! Every request field is served, noted or refused by name; a field that would change the answer is never silently
//! ignored.
//!
//! A turn of several rounds is one message: an empty line separates the text of the rounds, client calls are
//! numbered consecutively, and usage is the sum. Server tools are reported in [`wire::ServerCalls`] if enabled.

mod fields;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::incoming::Incoming;
use jackfield_dialect_kit::serve::{
    EncodeReply, ErrorResponse, ReplyInfo, ServeDialect, ServeError,
};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{Reply, ReplyEnd};
use serde_json::Value;

use super::stream::Encoder;
use super::{DIALECT, reply, request, wire};
use crate::serve_error;

/// The Chat Completions dialect of a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ChatCompletions {
    extensions: bool,
}

impl ChatCompletions {
    #[must_use]
    pub const fn new() -> Self {
        Self { extensions: false }
    }

    /// Adds the fields that the vendor lacks: reasoning as `reasoning_content`, which many clients read, and server
    /// tools as [`wire::ServerCalls`].
    #[must_use]
    pub const fn with_extensions(mut self) -> Self {
        self.extensions = true;
        self
    }
}

impl ServeDialect for ChatCompletions {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn request(
        &self,
        _header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
        owner: &dyn Fn(&str) -> StateOwner,
    ) -> Result<Incoming, ServeError> {
        let mut body = request::parse(body)?;
        let owner = owner(&body.model);
        let checked = fields::check(&mut body, !owner.endpoint.is_empty())?;
        let mut incoming = request::from_wire(body, &owner)?;
        fields::check_read(&incoming)?;
        incoming.echo = checked.echo;
        incoming.notes.extend(checked.notes);
        incoming.store = checked.store;
        Ok(incoming)
    }

    fn reply(&self, reply: &Reply, about: &ReplyInfo) -> (Vec<u8>, Vec<Note>) {
        let (mut body, mut notes) = reply::to_wire(reply, &about.model, &id(about), about.created);
        if !self.extensions {
            notes.extend(body.choices.iter_mut().filter_map(without_reasoning));
        }
        // Serialization cannot fail: all keys are strings and all numbers finite.
        (serde_json::to_vec(&body).unwrap_or_default(), notes)
    }

    fn encoder(&self, about: &ReplyInfo) -> Box<dyn EncodeReply> {
        let mut encoder = Encoder::new(id(about), about.model.as_str(), about.created);
        if about.echo.get(fields::USAGE) == Some(&Value::Bool(true)) {
            encoder = encoder.with_usage();
        }
        if !self.extensions {
            encoder = encoder.without_reasoning();
        }
        Box::new(encoder)
    }

    fn error(&self, error: &ServeError, request_id: &str) -> ErrorResponse {
        serve_error::to_response(error, request_id)
    }

    fn shows_server_tools(&self) -> bool {
        self.extensions
    }
}

impl EncodeReply for Encoder {
    fn begin(&mut self) -> Vec<SseEvent> {
        Self::begin(self)
    }

    fn push(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        self.push_as(delta, call)
    }

    /// A comment, which the vendor's SDKs and other readers of server-sent events skip.
    fn keep_alive(&mut self) -> String {
        ": keep-alive\n\n".to_owned()
    }

    fn finish(self: Box<Self>, end: &ReplyEnd) -> Vec<SseEvent> {
        Self::finish(*self, end)
    }

    /// Only the error: without a finish reason and `[DONE]`, clients do not take the reply for complete.
    fn fail(self: Box<Self>, error: &ServeError, request_id: &str) -> Vec<SseEvent> {
        let (_, body) = serve_error::to_wire(error, request_id);
        vec![SseEvent {
            // Serialization cannot fail: all keys are strings.
            data: serde_json::to_string(&body).unwrap_or_default(),
            event: None,
        }]
    }
}

fn id(about: &ReplyInfo) -> String {
    format!("chatcmpl-{}", about.id)
}

/// Removes the reasoning from a message; returns a note if there was some.
fn without_reasoning(choice: &mut wire::Choice) -> Option<Note> {
    let text = choice.message.reasoning_content.take();
    let details = choice.message.reasoning_details.take();
    (text.is_some() || details.is_some()).then(|| {
        let code = "thinking_withheld";
        Note::new(
            NoteKind::Dropped,
            NoteEffect::Quality,
            code,
            "blocks".to_owned(),
        )
    })
}
