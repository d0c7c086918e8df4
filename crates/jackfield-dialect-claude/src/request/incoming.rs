//! Maps a client's body to domain values.

mod blocks;
mod messages;
mod server_calls;
mod settings;
mod tools;

use jackfield_dialect_kit::incoming::{Incoming, Invalid};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::opaque::{Extension, StateOwner};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};

pub(crate) use tools::is_set_of_tools;

use super::conversation::plain;
use super::extensions::SYSTEM;
use crate::wire;

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
/// # Errors
///
/// [`Invalid`] if a block is malformed, or of a kind that cannot be mapped.
pub fn from_wire(body: wire::Request, owner: &StateOwner) -> Result<Incoming, Invalid> {
    let mut notes = Notes::default();
    let (system, cached) = system(body.system)?;
    let messages = messages::from_wire(body.messages, owner, &mut notes)?;
    let names_tools = body.tools.is_some();
    let tools = tools::from_wire(body.tools.unwrap_or_default(), owner, &mut notes)?;
    let (choice, parallel_calls) = tools::choice(body.tool_choice)?;
    let wire_settings = settings::WireSettings {
        extra: body.extra,
        max_tokens: body.max_tokens,
        metadata: body.metadata,
        output_config: body.output_config,
        parallel_calls,
        service_tier: body.service_tier,
        stop_sequences: body.stop_sequences,
        temperature: body.temperature,
        thinking: body.thinking,
        top_k: body.top_k,
        top_p: body.top_p,
    };
    let mut settings = settings::from_wire(wire_settings, &mut notes)?;
    settings.extensions.extend(cached);
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
        system,
        tools,
    })
}

/// The system prompt, and its cache points, which become extensions.
fn system(system: Option<wire::System>) -> Result<(SystemPrompt, Vec<Extension>), Invalid> {
    let blocks = match system {
        None => Vec::new(),
        Some(wire::System::Text(text)) => vec![plain(&text)],
        Some(wire::System::Blocks(blocks)) => blocks,
    };
    let (mut parts, mut cached) = (Vec::new(), Vec::new());
    for (n, block) in blocks.into_iter().enumerate() {
        let wire::Block::Text {
            text,
            cache_control,
            ..
        } = block
        else {
            let reason = "only text blocks can be here";
            return Err(Invalid::new(format!("system.{n}"), reason));
        };
        if text.trim().is_empty() {
            continue;
        }
        if let Some(cache) = cache_control {
            let below = format!("{SYSTEM}/{}", parts.len());
            let json = serde_json::to_value(cache).unwrap_or_default();
            cached.push(settings::extension(&below, "cache_control", json));
        }
        parts.push(SystemPart {
            origin: PartOrigin::Flag,
            text: text.into(),
        });
    }
    Ok((SystemPrompt { parts }, cached))
}
