//! Maps a client's body to domain values.

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
/// [`Invalid`] with the path if it is not JSON of the vendor's form.
pub fn parse(text: &[u8]) -> Result<wire::Request, Invalid> {
    body::parse(text)
}

/// The domain values of a client's request.
///
/// The client's call ids are kept if they have the form of ours; otherwise a stable id is derived, and the original
/// is kept as opaque state of `owner`. Opaque state in the conversation is attributed to `owner`, too: access is
/// decided by the recipient of the request. Whether the stream ends with usage is only in [`wire::StreamOptions`].
///
/// # Errors
///
/// [`Invalid`] if something is malformed, or of a kind that cannot be mapped.
pub fn from_wire(mut body: wire::Request, owner: &StateOwner) -> Result<Incoming, Invalid> {
    let mut notes = Notes::default();
    let wire_messages = std::mem::take(&mut body.messages);
    let (system, messages) = messages::from_wire(wire_messages, owner, &mut notes)?;
    let names_tools = body.tools.is_some() || body.functions.is_some();
    let tools = tools::from_wire(&mut body, &mut notes)?;
    let chosen = body.tool_choice.take();
    let choice = tools::choice(chosen.or_else(|| body.function_call.take()))?;
    let stream = body.stream.unwrap_or(false);
    let model = std::mem::take(&mut body.model).into();
    let settings = settings::from_wire(body, &mut notes)?;
    Ok(Incoming {
        address: None,
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
