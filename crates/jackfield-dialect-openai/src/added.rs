//! The fields that the mappers add to requests by themselves, and that a server may do without: nobody asked for them,
//! and they carry nothing of the conversation that the server has not made itself.
//!
//! `store: false` is not among them: without it, a server may keep what it is sent.

use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::ResponseFormat;

use crate::cache_key::has_cache_key;
use crate::profile::{Profile, ReasoningEcho, fields};
use crate::responses::request::ENCRYPTED_REASONING as ENCRYPTED_CONTENT;
use crate::{chat, responses};

/// Those in a body of Chat Completions, which was mapped from a request.
#[must_use]
pub fn to_chat(
    body: &chat::wire::Request,
    request: &ModelRequest,
    profile: &Profile,
) -> Vec<&'static str> {
    let settings = &request.settings;
    let options = body.stream_options.as_ref();
    let asks_effort = settings.effort.is_some() || settings.thinking.is_some();
    // A server that wants all of its reasoning back refuses requests without it.
    let echoes = profile.reasoning_echo == ReasoningEcho::AsItCame;
    let has = |field: fn(&chat::wire::Message) -> bool| echoes && body.messages.iter().any(field);
    let added = [
        (fields::CACHE_KEY, has_cache_key(&body.extra, request)),
        (
            fields::STREAM_USAGE,
            options.is_some_and(|options| options.extra.is_empty()),
        ),
        (
            fields::EFFORT,
            body.reasoning_effort.is_some() && !asks_effort,
        ),
        (
            fields::REASONING,
            has(|message| message.reasoning.is_some()),
        ),
        (
            fields::REASONING_CONTENT,
            has(|message| message.reasoning_content.is_some()),
        ),
        (
            fields::REASONING_DETAILS,
            has(|message| message.reasoning_details.is_some()),
        ),
    ];
    present(&added)
}

/// Those in a body of Responses, which was mapped from a request.
#[must_use]
pub fn to_responses(body: &responses::wire::Request, request: &ModelRequest) -> Vec<&'static str> {
    let is_own = |wanted: &Vec<String>| *wanted == [ENCRYPTED_CONTENT];
    let tools = body.tools.iter().flatten();
    let mut strict = tools.filter_map(|tool| tool.strict).peekable();
    let is_left_open = strict.peek().is_some() && strict.all(|strict| strict.is_none());
    let mut found = request.searchable.iter();
    let is_format_strict = matches!(
        request.settings.response_format,
        ResponseFormat::JsonSchema {
            strict: Some(_),
            ..
        }
    );
    let asks_strict = is_format_strict || found.any(|tool| tool.strict.is_some());
    let added = [
        (fields::CACHE_KEY, has_cache_key(&body.extra, request)),
        (
            fields::ENCRYPTED_REASONING,
            body.include.as_ref().is_some_and(is_own),
        ),
        (fields::STRICT, is_left_open && !asks_strict),
    ];
    present(&added)
}

fn present(fields: &[(&'static str, bool)]) -> Vec<&'static str> {
    let present = fields.iter().filter(|(_, is_present)| *is_present);
    present.map(|(field, _)| *field).collect()
}
