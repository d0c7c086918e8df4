//! Requests: a domain request as a body, and a client's body as domain values.

mod asking;
mod assistant;
mod calls;
mod conversation;
mod extensions;
mod inward;
mod media;
mod outcomes;
mod settings;
mod tools;

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use serde_json::Map;

use super::wire;
use crate::profile::Profile;

pub use inward::{from_wire, parse};
pub use jackfield_dialect_kit::incoming::{Incoming, Invalid};
pub use jackfield_dialect_kit::outgoing::Unsupported;
pub(crate) use tools::TEXT_FIELD;

/// What is asked for where reasoning can be sent back.
pub(crate) const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

/// The body for a request, and notes on everything that is lost or changed by it.
///
/// `owner` is whom the request goes to: opaque state of this owner is sent back, that of others is
/// withheld. With `stream` the reply comes as events, which [`super::stream::Decoder`] reads.
///
/// The conversation has to keep the rules of [`jackfield_domain::rules`]; the body then keeps the
/// vendor's.
///
/// # Errors
///
/// [`Unsupported`] where a user or system message holds what the server does not take.
pub fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &Profile,
    stream: bool,
) -> Result<(wire::Request, Vec<Note>), Unsupported> {
    let mut notes = Notes::default();
    let mut said = conversation::to_wire(request, owner, profile, &mut notes)?;
    let settings = settings::to_wire(&request.settings, profile, &mut notes);
    let format = settings.text.as_ref().and_then(|text| text.format.as_ref());
    if matches!(format, Some(wire::TextFormat::JsonObject {})) {
        asking::ask_for_json(&mut said, profile, &mut notes);
    }
    let offered = tools::to_wire(request, profile, &mut notes);
    let include = profile
        .encrypted_reasoning
        .then(|| vec![ENCRYPTED_REASONING.to_owned()]);
    let mut body = wire::Request {
        model: (*request.model.model).to_owned(),
        instructions: said.instructions,
        input: wire::Input::Items(said.items),
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
    Ok((body, notes.into_vec()))
}
