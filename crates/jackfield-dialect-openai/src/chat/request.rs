//! Requests: maps a domain request to a body, and a client's body to domain values.

mod assistant;
mod content;
mod conversation;
mod extensions;
mod incoming;
mod outcomes;
mod settings;
mod tools;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::cache_points::without_own_point;
use jackfield_dialect_kit::outgoing::names::NameForm;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use serde_json::json;

use crate::cache_key::add_cache_key;
use crate::chat::wire;
use crate::profile::Profile;

pub(crate) use content::in_words;
pub(crate) use extensions::{acts, searches};
pub use incoming::{from_wire, parse};
pub use jackfield_dialect_kit::incoming::{Incoming, Invalid};
pub use jackfield_dialect_kit::outgoing::Unsupported;

/// The body for a request, and notes on everything that is lost or changed.
///
/// `owner` is the recipient of the request: opaque state of this owner is sent back, that of others is withheld.
/// With `stream` the reply arrives as events, which [`crate::chat::stream::Decoder`] reads.
///
/// The conversation must satisfy [`jackfield_domain::rules`]; the body then satisfies the vendor's rules.
///
/// # Errors
///
/// [`Unsupported`] if a user or system message contains media that the server does not take, or if there are tools and
/// the model takes none here.
pub fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &Profile,
    stream: bool,
) -> Result<(wire::Request, Vec<Note>), Unsupported> {
    let mut notes = Notes::default();
    profile.note(&mut notes);
    let request = &*NAMES.fit(request, &mut notes);
    let request = &*without_own_point(request, profile.cache);
    let mut messages = conversation::to_wire(request, owner, profile, &mut notes)?;
    let offered = tools::to_wire(request, profile, &mut notes);
    if !offered.tools.is_empty() && !profile.has_chat_tools() {
        return Err(Unsupported {
            path: "tools".to_owned(),
            reason: "this model takes no tools on Chat Completions; set `api = \"responses\"` for its provider",
        });
    }
    let settings = &request.settings;
    let response_format = settings::response_format(settings, profile, &mut notes);
    if matches!(
        response_format,
        Some(wire::ResponseFormat::JsonObject { .. })
    ) {
        conversation::ask_for_json(&mut messages, profile, &mut notes);
    }
    let mut extra = serde_json::Map::new();
    conversation::mark_prefill(&mut messages, &mut extra, profile);
    let effort = settings::effort(settings, profile, !offered.tools.is_empty(), &mut notes);
    let switched_off = profile.thinking_switch && effort.as_deref() == Some("none");
    if switched_off {
        extra.insert("thinking".to_owned(), json!({ "type": "disabled" }));
    }
    let mut body = wire::Request {
        model: (*request.model.model).to_owned(),
        messages,
        tool_choice: offered.choice,
        parallel_tool_calls: offered.parallel,
        functions: None,
        function_call: None,
        response_format,
        max_completion_tokens: None,
        max_tokens: None,
        reasoning_effort: effort.filter(|_| !switched_off),
        verbosity: None,
        temperature: None,
        top_p: None,
        top_k: None,
        frequency_penalty: None,
        presence_penalty: None,
        seed: None,
        stop: None,
        service_tier: None,
        safety_identifier: None,
        user: None,
        stream: stream.then_some(true),
        stream_options: (stream && profile.stream_usage).then(|| wire::StreamOptions {
            include_usage: Some(true),
            ..wire::StreamOptions::default()
        }),
        extra,
        tools: (!offered.tools.is_empty()).then_some(offered.tools),
    };
    settings::apply(&mut body, settings, profile, &mut notes);
    extensions::apply(&mut body, &settings.extensions, &mut notes);
    add_cache_key(&mut body.extra, request, profile);
    Ok((body, notes.into_vec()))
}

/// The names of tools that Chat Completions takes.
pub(crate) const NAMES: NameForm = NameForm {
    begins_with_letter: false,
    further: "",
    longest: 64,
};
