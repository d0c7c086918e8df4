//! Requests: maps a domain request to a body, and a client's body to domain values.

mod assistant;
mod calls;
mod conversation;
mod extensions;
mod incoming;
mod instructions;
mod media;
mod outcomes;
mod settings;
mod tool_search;
mod tools;

use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::cache_points::without_own_point;
use jackfield_dialect_kit::outgoing::names::NameForm;
use jackfield_domain::message::Message;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::ToolChoice;
use serde_json::Map;

use self::tool_search::SearchedRequest;
use super::wire;
use crate::cache_key::add_cache_key;
use crate::profile::Profile;

pub(crate) use incoming::is_carried;
pub use incoming::{from_wire, parse};
pub use jackfield_dialect_kit::incoming::{Incoming, Invalid};
pub use jackfield_dialect_kit::outgoing::Unsupported;
pub(crate) use tool_search::read_call;
pub(crate) use tools::{CUSTOM, FUNCTION};

/// The items of messages, as a client of this dialect would send them; what cannot be expressed is left out.
pub(crate) fn items(messages: &[Message]) -> Vec<wire::Item> {
    // The client must not see opaque state in requests, so this owner matches no state.
    let owner = StateOwner {
        dialect: super::DIALECT.into(),
        endpoint: "".into(),
        model: "".into(),
    };
    let messages_as_items = messages.iter().filter_map(|message| {
        let request = ModelRequest {
            choice: ToolChoice::Auto,
            messages: [message.clone()].into_iter().collect(),
            model: ModelRef {
                model: "".into(),
                provider: "".into(),
            },
            turn: None,
            settings: Arc::default(),
            strict: None,
            system: Arc::default(),
            tools: Arc::default(),
            searchable: Arc::default(),
            tools_as_text: false,
            whole: false,
        };
        let mut notes = Notes::default();
        let conversation =
            conversation::to_wire(&request, None, &owner, &Profile::OPENAI, &mut notes);
        conversation.ok()
    });
    messages_as_items.flat_map(|said| said.items).collect()
}

/// The `include` value that requests reasoning in a form that can be sent back.
pub(crate) const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

/// The body for a request, and notes on everything that is lost or changed.
///
/// `owner` is the recipient of the request: opaque state of this owner is sent back, that of others is withheld.
/// With `stream` the reply arrives as events, which [`super::stream::Decoder`] reads.
///
/// The conversation must satisfy [`jackfield_domain::rules`]; the body then satisfies the vendor's rules.
///
/// # Errors
///
/// [`Unsupported`] if a user or system message contains media that the server does not take, or if all tools are the
/// vendor's own, and the server does not run those.
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
    let search = SearchedRequest::new(request, profile);
    let mut conversation =
        conversation::to_wire(request, search.as_ref(), owner, profile, &mut notes)?;
    let settings = settings::to_wire(&request.settings, profile, &mut notes);
    let format = settings.text.as_ref().and_then(|text| text.format.as_ref());
    if matches!(format, Some(wire::TextFormat::JsonObject {})) {
        instructions::ask_for_json(&mut conversation, profile, &mut notes);
    }
    let offered = tools::to_wire(request, search.as_ref(), profile, &mut notes)?;
    let include = profile
        .encrypted_reasoning
        .then(|| vec![ENCRYPTED_REASONING.to_owned()]);
    let mut body = wire::Request {
        model: (*request.model.model).to_owned(),
        instructions: conversation.instructions,
        input: wire::Input::Items(conversation.items),
        tools: (!offered.tools.is_empty()).then_some(offered.tools),
        tool_choice: offered.choice,
        parallel_tool_calls: offered.parallel_calls,
        max_output_tokens: settings.max_output_tokens,
        reasoning: settings.reasoning,
        text: settings.text,
        include,
        store: Some(false),
        stream: stream.then_some(true),
        temperature: settings.temperature,
        top_p: settings.top_p,
        top_k: settings.top_k,
        service_tier: settings.service_tier,
        safety_identifier: settings.safety_identifier,
        user: settings.user,
        extra: Map::new(),
    };
    extensions::apply(&mut body, &request.settings.extensions, profile, &mut notes);
    add_cache_key(&mut body.extra, request, profile);
    Ok((body, notes.into_vec()))
}

/// The names of tools that Responses takes.
pub(crate) const NAMES: NameForm = NameForm {
    begins_with_letter: false,
    further: "",
    longest: 128,
};
