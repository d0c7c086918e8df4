//! Maps the conversation: domain messages as Ollama's.

use std::collections::HashMap;

use jackfield_dialect_kit::ids::{IdForm, WireIds};
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::Content;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::system_prompt::SystemPrompt;

use super::Unsupported;
use crate::wire;

/// The context for mapping messages.
pub(super) struct RequestWriter<'a> {
    /// The names of the called tools, for their results.
    pub(super) called: HashMap<ToolCallId, String>,
    pub(super) ids: WireIds,
    pub(super) notes: &'a mut Notes,
    pub(super) owner: &'a StateOwner,
}

/// Maps the system prompt and the conversation.
pub(super) fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<Vec<wire::Message>, Unsupported> {
    let mut writer = RequestWriter {
        called: HashMap::new(),
        ids: WireIds::new(request, owner, IdForm::Usual),
        notes,
        owner,
    };
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    messages.extend(writer.system_prompt(&request.system));
    for (n, message) in request.messages.iter().enumerate() {
        let path = format_args!("messages[{n}]");
        if message.blocks.is_empty() {
            writer
                .notes
                .dropped(NoteEffect::Cosmetic, "empty_message", path);
        }
        writer.notes.withheld(path, &message.opaque, &[]);
        match message.role {
            Role::Assistant => messages.extend(writer.assistant(n, message)?),
            Role::System | Role::User => {
                if message.role == Role::System && messages.is_empty() {
                    // The first message of the system is the prompt.
                    writer
                        .notes
                        .approximated(NoteEffect::Cosmetic, "system_message_moved", path);
                }
                messages.extend(writer.said(n, message)?);
            }
            Role::Tool => {
                for (at, block) in BlockPath::of(message, n) {
                    let Content::ToolOutcome(outcome) = &block.content else {
                        return Err(at.unsupported("tools have outcomes alone"));
                    };
                    writer.notes.withheld(at, &block.opaque, &[]);
                    writer.notes.cache_point_lost(at, block);
                    messages.push(writer.outcome(at, outcome));
                }
            }
        }
    }
    Ok(messages)
}

/// Adds a request to the end of the system prompt.
pub(super) fn ask(messages: &mut Vec<wire::Message>, words: &str) {
    match messages.first_mut().filter(|first| first.role == SYSTEM) {
        Some(first) => {
            first.content.push_str(SEPARATOR);
            first.content.push_str(words);
        }
        None => {
            let prompt = wire::Message {
                role: SYSTEM.to_owned(),
                content: words.to_owned(),
                ..wire::Message::default()
            };
            messages.insert(0, prompt);
        }
    }
}

impl RequestWriter<'_> {
    fn system_prompt(&mut self, system: &SystemPrompt) -> Option<wire::Message> {
        let parts = self.notes.system_parts(system);
        if parts.len() > 1 {
            self.notes
                .approximated(NoteEffect::Cosmetic, "texts_joined", "system.parts");
        }
        let texts: Vec<&str> = parts.iter().map(|part| &*part.text).collect();
        (!texts.is_empty()).then(|| wire::Message {
            role: SYSTEM.to_owned(),
            content: texts.join(SEPARATOR),
            ..wire::Message::default()
        })
    }

    /// A message of the user or of the system; `None` if nothing of it is left.
    fn said(&mut self, n: usize, message: &Message) -> Result<Option<wire::Message>, Unsupported> {
        let (mut images, mut texts) = (Vec::new(), Vec::new());
        let mut is_moved = false;
        for (at, block) in BlockPath::of(message, n) {
            self.notes.withheld(at, &block.opaque, &[]);
            let Some(part) = self.part(at, &block.content)? else {
                continue;
            };
            self.notes.cache_point_lost(at, block);
            match part {
                Part::Image(data) => {
                    is_moved |= !texts.is_empty();
                    images.push(data);
                }
                Part::Text(text) => texts.push(text),
            }
        }
        if images.is_empty() && texts.is_empty() {
            return Ok(None);
        }
        self.joined(n, &texts, is_moved);
        let role = match message.role {
            Role::System => SYSTEM,
            Role::Assistant | Role::Tool | Role::User => "user",
        };
        Ok(Some(wire::Message {
            role: role.to_owned(),
            content: texts.join(SEPARATOR),
            images,
            ..wire::Message::default()
        }))
    }

    /// Notes what the form of a message changes: texts are one text, and images stand before it.
    fn joined(&mut self, n: usize, texts: &[String], is_moved: bool) {
        let path = format_args!("messages[{n}].blocks");
        if is_moved {
            self.notes
                .approximated(NoteEffect::Cosmetic, "blocks_rearranged", path);
        } else if texts.len() > 1 {
            self.notes
                .approximated(NoteEffect::Cosmetic, "texts_joined", path);
        }
    }
}

/// One part of a message.
pub(super) enum Part {
    /// An image in base64.
    Image(String),
    Text(String),
}

/// What stands between texts that are sent as one.
pub(super) const SEPARATOR: &str = "\n\n";
/// The role of the system prompt.
const SYSTEM: &str = "system";
