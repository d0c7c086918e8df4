//! A client's body as domain values.

mod blocks;
mod messages;
mod served;
mod settings;
mod tools;

use jackfield_dialect_kit::incoming::{Incoming, Invalid};
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};

use crate::wire;

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
/// # Errors
///
/// [`Invalid`] if a block is malformed, or of a kind that cannot be carried.
pub fn from_wire(body: wire::Request, owner: &StateOwner) -> Result<Incoming, Invalid> {
    let mut notes = Notes::default();
    let system = system(body.system, &mut notes)?;
    let messages = messages::from_wire(body.messages, owner, &mut notes)?;
    let names_tools = body.tools.is_some();
    let tools = tools::from_wire(body.tools.unwrap_or_default(), &mut notes)?;
    let (choice, parallel_calls) = tools::choice(body.tool_choice)?;
    let said = settings::Said {
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
        system,
        tools,
    })
}

fn system(system: Option<wire::System>, notes: &mut Notes) -> Result<SystemPrompt, Invalid> {
    let mut parts = Vec::new();
    let mut part = |text: String| {
        if !text.trim().is_empty() {
            parts.push(SystemPart {
                origin: PartOrigin::Flag,
                text: text.into(),
            });
        }
    };
    match system {
        None => {}
        Some(wire::System::Text(text)) => part(text),
        Some(wire::System::Blocks(blocks)) => {
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
                if cache_control.is_some() {
                    notes.dropped(
                        NoteEffect::Cost,
                        "cache_point_not_possible",
                        format_args!("system.{n}.cache_control"),
                    );
                }
                part(text);
            }
        }
    }
    Ok(SystemPrompt { parts })
}
