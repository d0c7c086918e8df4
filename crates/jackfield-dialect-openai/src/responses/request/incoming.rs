//! Maps a client's body to domain values.

mod items;
mod parts;
mod server_calls;
mod settings;
mod tools;

use jackfield_dialect_kit::incoming::{Incoming, Invalid};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};

use crate::responses::wire;

pub(crate) use tools::is_carried;

/// Reads a body.
///
/// # Errors
///
/// [`Invalid`] if it is not JSON of the vendor's form.
pub fn parse(body: &[u8]) -> Result<wire::Request, Invalid> {
    jackfield_dialect_kit::body::parse(body)
}

/// The domain values of a client's request.
///
/// The client's call ids are kept if they have the form of ours; otherwise a stable id is derived, and the original
/// is kept as opaque state of `owner`. Opaque state in the conversation is attributed to `owner`, too: access is
/// decided by the recipient of the request.
///
/// Fields that ask the vendor to store something, or to continue from stored data, are noted as refused: the server
/// does that itself, or reports that it does not.
///
/// # Errors
///
/// [`Invalid`] if an item is malformed, or of a kind that cannot be mapped.
pub fn from_wire(body: wire::Request, owner: &StateOwner) -> Result<Incoming, Invalid> {
    let mut notes = Notes::default();
    let instructions = body.instructions.filter(|text| !text.trim().is_empty());
    let parts = instructions.map(|text| SystemPart {
        origin: PartOrigin::Flag,
        text: text.into(),
    });
    let messages = items::from_wire(body.input, owner, &mut notes)?;
    let names_tools = body.tools.is_some();
    let tools = tools::from_wire(body.tools.unwrap_or_default(), owner, &mut notes)?;
    let choice = tools::choice(body.tool_choice, &tools, &mut notes)?;
    if body.store == Some(true) {
        notes.refused("provider_would_act", "store");
    }
    let wire_settings = settings::WireSettings {
        end_user: body.safety_identifier.or(body.user),
        extra: body.extra,
        include: body.include.unwrap_or_default(),
        max_output_tokens: body.max_output_tokens,
        parallel_calls: body.parallel_tool_calls,
        reasoning: body.reasoning.unwrap_or_default(),
        service_tier: body.service_tier,
        temperature: body.temperature,
        text: body.text.unwrap_or_default(),
        top_k: body.top_k,
        top_p: body.top_p,
    };
    let settings = settings::from_wire(wire_settings, owner, &mut notes)?;
    Ok(Incoming {
        address: None,
        background: false,
        choice,
        echo: serde_json::Map::new(),
        messages,
        model: body.model.into(),
        names_tools,
        notes: notes.into_vec(),
        previous: None,
        settings,
        store: None,
        stream: body.stream.unwrap_or(false),
        system: SystemPrompt {
            parts: parts.into_iter().collect(),
        },
        tools,
    })
}
