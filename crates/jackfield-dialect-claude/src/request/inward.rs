//! A client's body as domain values.

mod blocks;
mod ids;
mod messages;
mod settings;
mod tools;

use std::sync::Arc;

use jackfield_domain::message::Message;
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{ToolChoice, ToolDefinition};
use thiserror::Error;

use super::notes::Notes;
use crate::wire;

/// What a client asks, as domain values.
///
/// Who runs the tools, and whether the conversation keeps the rules, is decided elsewhere: every call in
/// it that no provider ran is marked as the engine's.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// Which tools may or have to be called.
    pub choice: ToolChoice,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The model, by the client's name for it.
    pub model: Arc<str>,
    /// What of the body is lost or changed; `Refused` is what would have made the provider act.
    pub notes: Vec<Note>,
    /// Settings.
    pub settings: Settings,
    /// Whether the reply is to come as events.
    pub stream: bool,
    /// The system prompt.
    pub system: SystemPrompt,
    /// The client's tools.
    pub tools: Vec<ToolDefinition>,
}

/// A body that is none, or that says something that Jackfield cannot carry: answer 400 with its text.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{path}: {reason}")]
pub struct Invalid {
    /// Where in the body, such as `messages.0.content.1`.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

impl Invalid {
    fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

/// Reads a body.
///
/// # Errors
///
/// [`Invalid`] if it is not JSON of the vendor's form.
pub fn parse(body: &[u8]) -> Result<wire::Request, Invalid> {
    serde_json::from_slice(body).map_err(|fault| Invalid::new("body", fault.to_string()))
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
        choice,
        messages,
        model: body.model.into(),
        notes: notes.into_vec(),
        settings,
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
