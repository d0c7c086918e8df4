//! Maps a client's body to domain values.

mod messages;
mod settings;
mod tools;

use jackfield_dialect_kit::incoming::{Incoming, Invalid};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};

pub(crate) use messages::medium;

use crate::wire;

/// Reads a body.
///
/// # Errors
///
/// [`Invalid`] if it is not JSON of the vendor's form.
pub fn parse(body: &[u8]) -> Result<wire::Request, Invalid> {
    jackfield_dialect_kit::body::parse(body)
}

/// The domain values of a client's request for this model, which its address names.
///
/// The client's call ids are kept if they have the form of ours; otherwise a stable id is derived, and the original
/// is kept as opaque state of `owner`. Opaque state in the conversation is attributed to `owner`, too: access is
/// decided by the recipient of the request.
///
/// # Errors
///
/// [`Invalid`] if a part is malformed, or of a kind that cannot be mapped.
pub fn from_wire(
    body: wire::Request,
    model: &str,
    owner: &StateOwner,
) -> Result<Incoming, Invalid> {
    let mut notes = Notes::default();
    let system = system(body.system_instruction)?;
    let messages = messages::from_wire(body.contents, owner, &mut notes)?;
    let names_tools = body.tools.is_some();
    let (tools, hosted) = tools::from_wire(body.tools.unwrap_or_default(), &mut notes)?;
    let (choice, more) = tools::choice(body.tool_config, &mut notes)?;
    let config = body.generation_config.unwrap_or_default();
    let mut fields = settings::from_wire(config, body.service_tier, body.extra, &mut notes)?;
    fields.settings.extensions.extend(hosted);
    fields.settings.extensions.extend(more);
    Ok(Incoming {
        address: None,
        background: false,
        choice,
        echo: serde_json::Map::new(),
        messages,
        model: model.into(),
        names_tools,
        notes: notes.into_vec(),
        previous: None,
        settings: fields.settings,
        store: fields.store,
        stream: false,
        system,
        tools,
    })
}

fn system(content: Option<wire::Content>) -> Result<SystemPrompt, Invalid> {
    let parts = content.and_then(|content| content.parts);
    let mut prompt = SystemPrompt::default();
    for (n, part) in parts.into_iter().flatten().enumerate() {
        let Some(text) = part.text else {
            let path = format!("systemInstruction.parts.{n}");
            return Err(Invalid::new(path, "only text can be here"));
        };
        if !text.trim().is_empty() {
            prompt.parts.push(SystemPart {
                origin: PartOrigin::Flag,
                text: text.into(),
            });
        }
    }
    Ok(prompt)
}
