//! A client's body as domain values.

mod assistant;
mod content;
mod messages;
mod settings;
mod tools;

use jackfield_dialect_kit::body;
use jackfield_dialect_kit::incoming::{Incoming, Invalid};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::opaque::StateOwner;

use crate::chat::wire;

/// Reads a body.
///
/// # Errors
///
/// [`Invalid`] if it is not JSON of the vendor's form, with the place.
pub fn parse(text: &[u8]) -> Result<wire::Request, Invalid> {
    body::parse(text)
}

/// What a client asks.
///
/// Call ids of the client are taken as they are where they have the form of ours; a stable id is derived
/// from the others, which stay beside it as `owner`'s. Opaque state in the conversation is marked as
/// `owner`'s too: whom the request is meant for decides who may see it again. Whether the stream is to
/// end with what was used stands in [`wire::StreamOptions`] alone.
///
/// # Errors
///
/// [`Invalid`] if something is malformed, or of a kind that cannot be carried.
pub fn from_wire(mut body: wire::Request, owner: &StateOwner) -> Result<Incoming, Invalid> {
    let mut notes = Notes::default();
    let told = std::mem::take(&mut body.messages);
    let (system, messages) = messages::from_wire(told, owner, &mut notes)?;
    let names_tools = body.tools.is_some() || body.functions.is_some();
    let tools = tools::from_wire(&mut body, &mut notes)?;
    let chosen = body.tool_choice.take();
    let choice = tools::choice(chosen.or_else(|| body.function_call.take()))?;
    let stream = body.stream.unwrap_or(false);
    let model = std::mem::take(&mut body.model).into();
    let settings = settings::from_wire(body, &mut notes)?;
    Ok(Incoming {
        background: false,
        choice,
        echo: serde_json::Map::new(),
        messages,
        model,
        names_tools,
        notes: notes.into_vec(),
        previous: None,
        settings,
        store: None,
        stream,
        system,
        tools,
    })
}
