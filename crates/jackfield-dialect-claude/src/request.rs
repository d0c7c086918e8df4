//! Requests: maps a domain request to a body, and a client's body to domain values.

mod blocks;
mod cache_points;
mod conversation;
mod extensions;
mod incoming;
mod outcomes;
mod schema;
mod settings;
mod tool_search;
mod tools;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::cache_points::without_own_point;
use jackfield_dialect_kit::outgoing::names::NameForm;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;

use self::tool_search::SearchedRequest;
use crate::options::Profile;
use crate::{DIALECT, wire};

pub(crate) use conversation::names;
pub(crate) use extensions::BETAS;
pub(crate) use incoming::is_set_of_tools;
pub use incoming::{from_wire, parse};
pub use jackfield_dialect_kit::incoming::{Incoming, Invalid};
pub use jackfield_dialect_kit::outgoing::Unsupported;
pub use schema::restrict as restrict_schema;
pub use settings::{default_max_tokens, effort, thinking, top_p};

/// The default `max_tokens`, which Claude always requires.
pub const DEFAULT_MAX_TOKENS: u64 = 8192;

/// The body for a request, and notes on everything that is lost or changed.
///
/// `owner` is the recipient of the request: opaque state of this owner is sent back, that of others is withheld.
/// With `stream` the reply arrives as events, which [`crate::stream::Decoder`] reads.
///
/// The conversation must satisfy [`jackfield_domain::rules`]; the body then satisfies the vendor's rules.
///
/// # Errors
///
/// [`Unsupported`] if a user or system message contains media that Claude does not accept.
pub fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &Profile,
    stream: bool,
) -> Result<(wire::Request, Vec<Note>), Unsupported> {
    let mut notes = Notes::default();
    let request = &*NAMES.fit(request, &mut notes);
    let request = &*without_own_point(request, profile.cache);
    let mut about_tools = Notes::default();
    let searched = SearchedRequest::new(request, profile);
    let request = searched
        .as_ref()
        .map_or(request, |searched| &searched.request);
    let mut tools = tools::to_wire(request, &mut about_tools);
    let references = searched.as_ref().map(|searched| searched.defer(&mut tools));
    let references = references.unwrap_or_default();
    let mut conversation =
        conversation::to_wire(request, &tools, references, owner, profile, &mut notes)?;
    let settings = settings::to_wire(&request.settings, profile, &mut notes);
    let thinks = settings
        .thinking
        .as_ref()
        .is_some_and(|thinking| thinking.kind != "disabled");
    notes.extend(about_tools.into_vec());
    let offered = tools::offer_tools(
        request,
        tools,
        profile,
        thinks,
        &conversation.called_tools,
        &mut notes,
    );
    let mut body = wire::Request {
        model: (*request.model.model).to_owned(),
        max_tokens: settings.max_tokens,
        system: (!conversation.system.is_empty())
            .then_some(wire::System::Blocks(conversation.system)),
        tools: (!offered.tools.is_empty()).then_some(offered.tools),
        tool_choice: offered.choice,
        messages: Vec::new(),
        stop_sequences: settings.stop_sequences,
        thinking: settings.thinking,
        output_config: settings.output_config,
        metadata: settings.metadata,
        service_tier: settings.service_tier,
        temperature: settings.temperature,
        top_p: settings.top_p,
        top_k: settings.top_k,
        stream: stream.then_some(true),
        extra: serde_json::Map::new(),
    };
    let set = &conversation.system_cache_paths;
    extensions::apply(&mut body, &request.settings.extensions, set, &mut notes);
    let fixed = cache_points::fixed(&conversation.messages);
    tools::limit_cache_points(&mut body, request, fixed, &mut notes);
    let (messages, points) = (&mut conversation.messages, conversation.cache_paths);
    let in_system = conversation.system_cache_paths.len();
    let kept_points =
        conversation::limit_cache_points(messages, points, in_system, fixed, &body, &mut notes);
    conversation::limit_system_cache_points(
        &mut body,
        &conversation.system_cache_paths,
        kept_points + fixed,
        &mut notes,
    );
    body.messages = conversation.messages;
    cache_points::set(&mut body, request, profile);
    Ok((body, notes.into_vec()))
}

/// The betas that the client of a request requested.
#[must_use]
pub fn betas(request: &ModelRequest) -> Vec<&str> {
    let extensions = request.settings.extensions.iter();
    let requested =
        extensions.filter(|extension| *extension.dialect == *DIALECT && extension.path == BETAS);
    let names = requested.filter_map(|extension| extension.json.as_array());
    names
        .flatten()
        .filter_map(serde_json::Value::as_str)
        .collect()
}

/// The names of tools that Claude takes (Messages API).
pub(crate) const NAMES: NameForm = NameForm {
    begins_with_letter: false,
    further: "",
    longest: 128,
};
