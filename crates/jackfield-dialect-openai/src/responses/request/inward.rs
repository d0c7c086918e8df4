//! A client's body as domain values.

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

/// Reads a body.
///
/// # Errors
///
/// [`Invalid`] if it is not JSON of the vendor's form.
pub fn parse(body: &[u8]) -> Result<wire::Request, Invalid> {
    jackfield_dialect_kit::body::parse(body)
}

/// What a client asks.
///
/// Call ids of the client are taken as they are where they have the form of ours; a stable id is derived
/// from the others, which stay beside it as `owner`'s. Opaque state in the conversation is marked as
/// `owner`'s too: whom the request is meant for decides who may see it again.
///
/// Fields that ask the vendor to keep something, or to go on from what it kept, are noted as refused:
/// whoever serves the request does that itself, or says that it does not.
///
/// # Errors
///
/// [`Invalid`] if an item is malformed, or of a kind that cannot be carried.
pub fn from_wire(body: wire::Request, owner: &StateOwner) -> Result<Incoming, Invalid> {
    let mut notes = Notes::default();
    let instructions = body.instructions.filter(|text| !text.trim().is_empty());
    let parts = instructions.map(|text| SystemPart {
        origin: PartOrigin::Flag,
        text: text.into(),
    });
    let messages = items::from_wire(body.input, owner, &mut notes)?;
    let names_tools = body.tools.is_some();
    let tools = tools::from_wire(body.tools.unwrap_or_default(), &mut notes)?;
    let choice = tools::choice(body.tool_choice, &mut notes)?;
    if body.store == Some(true) {
        notes.refused("provider_would_act", "store");
    }
    let said = settings::Said {
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
    let settings = settings::from_wire(said, &mut notes)?;
    Ok(Incoming {
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
