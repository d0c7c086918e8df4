//! Requests: maps a domain request to a body, and a client's body to domain values.

mod blocks;
mod conversation;
mod extensions;
mod incoming;
mod outcomes;
mod settings;
mod tools;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::names::NameForm;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;

use crate::options::Profile;
use crate::wire;

pub use incoming::{from_wire, parse};
pub use jackfield_dialect_kit::incoming::{Incoming, Invalid};
pub use jackfield_dialect_kit::outgoing::Unsupported;

pub(crate) use extensions::{ACTING, HOSTED};
pub(crate) use incoming::medium;

/// The body for a request, and notes on everything that is lost or changed. The model is in the address, and so is
/// whether the reply is streamed.
///
/// `owner` is the recipient of the request: opaque state of this owner is sent back, that of others is withheld.
/// The conversation must satisfy [`jackfield_domain::rules`]; the body then satisfies the vendor's rules.
///
/// # Errors
///
/// [`Unsupported`] if a user or system message contains media that Gemini does not accept.
pub fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &Profile,
) -> Result<(wire::Request, Vec<Note>), Unsupported> {
    let mut notes = Notes::default();
    let request = &*NAMES.fit(request, &mut notes);
    let mapped = conversation::to_wire(request, owner, profile, &mut notes)?;
    let tools = tools::to_wire(request, &mut notes);
    let (config, service_tier) = settings::to_wire(
        &request.settings,
        profile,
        !tools.tools.is_empty(),
        &mut notes,
    );
    let mut body = wire::Request {
        system_instruction: (!mapped.system.is_empty()).then_some(wire::Content {
            role: None,
            parts: Some(mapped.system),
        }),
        tools: (!tools.tools.is_empty()).then_some(tools.tools),
        tool_config: tools.config,
        contents: mapped.contents,
        generation_config: (config != wire::GenerationConfig::default()).then_some(config),
        service_tier,
        extra: serde_json::Map::new(),
    };
    extensions::apply(&mut body, &request.settings.extensions, &mut notes);
    Ok((body, notes.into_vec()))
}

/// The names of tools that Gemini takes (Gemini API documentation, function calling, 2026-11; `google-genai` 3.6.1, `FunctionDeclaration`).
pub(crate) const NAMES: NameForm = NameForm {
    begins_with_letter: true,
    further: ".:",
    longest: 128,
};
