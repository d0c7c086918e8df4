//! Maps the conversation: domain messages as items.

use std::collections::HashMap;

use jackfield_dialect_kit::ids::WireIds;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use serde_json::{Map, Value};

use super::Unsupported;
use super::tool_search::SearchedRequest;
use crate::profile::{LIFETIMES, Profile, SystemRole};
use crate::responses::wire;

/// The mapped conversation and system prompt.
#[derive(Debug)]
pub(super) struct MappedConversation {
    pub(super) instructions: Option<String>,
    pub(super) items: Vec<wire::Item>,
}

/// The context for mapping blocks.
#[derive(Debug)]
pub(super) struct RequestWriter<'a> {
    pub(super) ids: WireIds,
    pub(super) notes: &'a mut Notes,
    pub(super) owner: &'a StateOwner,
    pub(super) profile: &'a Profile,
    /// How searches for tools are sent; `None` if they are calls like any other.
    pub(super) search: Option<&'a SearchedRequest>,
    /// How each call was sent, for its output.
    pub(super) sent_calls: HashMap<ToolCallId, SentCall>,
}

#[derive(Debug)]
pub(super) struct SentCall {
    /// The caller, if the provider names one; the output repeats it.
    pub(super) caller: Option<Value>,
    /// Whether it is a text tool's call.
    pub(super) custom: bool,
    /// Whether it is a search for tools in the vendor's form.
    pub(super) is_search: bool,
}

/// Maps the system prompt and the conversation.
pub(super) fn to_wire(
    request: &ModelRequest,
    search: Option<&SearchedRequest>,
    owner: &StateOwner,
    profile: &Profile,
    notes: &mut Notes,
) -> Result<MappedConversation, Unsupported> {
    let parts = notes.system_parts(&request.system).into_iter();
    let mut system: Vec<String> = parts.map(|part| (*part.text).to_owned()).collect();
    let mut writer = RequestWriter {
        ids: WireIds::new(request, owner, profile.call_ids),
        notes,
        owner,
        profile,
        search,
        sent_calls: HashMap::new(),
    };
    let mut items: Vec<wire::Item> = Vec::new();
    let mut last = None;
    for (n, message) in request.messages.iter().enumerate() {
        let path = format_args!("messages[{n}]");
        writer.notes.withheld(path, &message.opaque, &[]);
        if message.blocks.is_empty() {
            writer
                .notes
                .dropped(NoteEffect::Cosmetic, "empty_message", path);
            continue;
        }
        let message_items = match message.role {
            Role::Assistant => writer.assistant(n, message)?,
            Role::System if profile.system_role == SystemRole::OneSystem && items.is_empty() => {
                writer.moved_system(n, message, &mut system)?;
                continue;
            }
            Role::System => writer.system(n, message)?,
            Role::Tool | Role::User => writer.other_items(n, message, wire::Role::User)?,
        };
        if message_items.is_empty() {
            continue;
        }
        // The wire format has no boundary between consecutive replies.
        let joins = matches!(message.role, Role::Assistant | Role::Tool);
        if joins && last == Some(message.role) {
            writer
                .notes
                .approximated(NoteEffect::Cosmetic, "messages_merged", path);
        }
        last = Some(message.role);
        items.extend(message_items);
    }
    if system.len() > 1 {
        notes.approximated(NoteEffect::Cosmetic, "system_parts_joined", "system.parts");
    }
    Ok(MappedConversation {
        instructions: (!system.is_empty()).then(|| system.join("\n\n")),
        items,
    })
}

impl RequestWriter<'_> {
    /// The cache point of a block, if the server supports cache points.
    pub(super) fn cache_point(
        &mut self,
        at: BlockPath,
        block: &Block,
    ) -> Option<wire::CacheBreakpoint> {
        let point = block.cache?;
        if !self.profile.cache_points {
            self.notes.cache_point_lost(at, block);
            return None;
        }
        Some(wire::CacheBreakpoint {
            mode: "explicit".to_owned(),
            ttl: self.notes.cache_lifetime(at, point, LIFETIMES),
        })
    }

    /// Moves a system message to the front, for servers that accept only one.
    fn moved_system(
        &mut self,
        n: usize,
        message: &Message,
        system: &mut Vec<String>,
    ) -> Result<(), Unsupported> {
        let parts = self.parts(n, message)?;
        if parts.is_empty() {
            return Ok(());
        }
        let path = format_args!("messages[{n}]");
        self.notes
            .approximated(NoteEffect::Cosmetic, "system_message_moved", path);
        for part in parts {
            // A system message contains only text.
            if let wire::Part::InputText { text, .. } = part {
                system.push(text);
            }
        }
        Ok(())
    }

    fn system(&mut self, n: usize, message: &Message) -> Result<Vec<wire::Item>, Unsupported> {
        let role = match self.profile.system_role {
            SystemRole::Developer => wire::Role::Developer,
            SystemRole::System => wire::Role::System,
            SystemRole::OneSystem => wire::Role::User,
        };
        let items = self.other_items(n, message, role)?;
        if role == wire::Role::User && !items.is_empty() {
            let path = format_args!("messages[{n}].role");
            self.notes
                .approximated(NoteEffect::Meaning, "system_message_as_user", path);
        }
        Ok(items)
    }

    /// All blocks other than the model's text: outputs, and messages for the blocks between them.
    fn other_items(
        &mut self,
        n: usize,
        message: &Message,
        role: wire::Role,
    ) -> Result<Vec<wire::Item>, Unsupported> {
        let mut items = Vec::new();
        if message.role != Role::Tool {
            let parts = self.parts(n, message)?;
            items.extend(message_of(parts, role));
            return Ok(items);
        }
        let mut user_parts = Vec::new();
        for (at, block) in BlockPath::of(message, n) {
            if let Content::ToolOutcome(outcome) = &block.content {
                self.notes.withheld(at, &block.opaque, &[]);
                items.push(self.outcome(at, block, outcome, &mut user_parts));
            } else {
                items.extend(message_of(
                    self.part(at, block)?.into_iter().collect(),
                    role,
                ));
            }
        }
        items.extend(message_of(user_parts, role));
        Ok(items)
    }

    fn parts(&mut self, n: usize, message: &Message) -> Result<Vec<wire::Part>, Unsupported> {
        let mut parts = Vec::with_capacity(message.blocks.len());
        for (at, block) in BlockPath::of(message, n) {
            parts.extend(self.part(at, block)?);
        }
        Ok(parts)
    }

    /// A block that is not the model's; `None` if it is left out, which has been noted.
    fn part(&mut self, at: BlockPath, block: &Block) -> Result<Option<wire::Part>, Unsupported> {
        let words = match &block.content {
            Content::Audio(_) => return Err(at.unsupported("this language has no sounds")),
            Content::Document(document) => {
                self.notes.withheld(at, &block.opaque, &[]);
                let part = self.document(at, document)?;
                return Ok(part.map(|part| self.cached(at, block, part)));
            }
            Content::Image(image) => {
                self.notes.withheld(at, &block.opaque, &[]);
                let part = self.image(at, image)?;
                return Ok(Some(self.cached(at, block, part)));
            }
            Content::Opaque(opaque) => match self.notes.fallback(at, opaque) {
                Some(text) => text,
                None => return Ok(None),
            },
            Content::Refusal(text) => {
                if self.notes.is_blank(at, text) {
                    return Ok(None);
                }
                self.notes
                    .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
                text
            }
            Content::Text(text) => {
                if self.notes.is_blank(at, &text.text) {
                    return Ok(None);
                }
                self.notes.annotations_lost(at, text);
                &text.text
            }
            Content::Thinking(_) => {
                self.notes
                    .dropped(NoteEffect::Quality, "thinking_withheld", at);
                return Ok(None);
            }
            Content::ToolCall(_) => return Err(at.unsupported("only the model calls tools")),
            Content::ToolOutcome(_) => {
                return Err(at.unsupported("tool results stand in messages of their own"));
            }
        };
        self.notes.withheld(at, &block.opaque, &[]);
        let part = wire::Part::InputText {
            text: words.to_owned(),
            prompt_cache_breakpoint: None,
        };
        Ok(Some(self.cached(at, block, part)))
    }

    fn cached(&mut self, at: BlockPath, block: &Block, mut part: wire::Part) -> wire::Part {
        let point = self.cache_point(at, block);
        if let Some(place) = breakpoint(&mut part) {
            *place = point;
        }
        part
    }
}

/// The field of a part for a cache point; the model's own parts have none.
pub(super) fn breakpoint(part: &mut wire::Part) -> Option<&mut Option<wire::CacheBreakpoint>> {
    match part {
        wire::Part::InputFile {
            prompt_cache_breakpoint,
            ..
        }
        | wire::Part::InputImage {
            prompt_cache_breakpoint,
            ..
        }
        | wire::Part::InputText {
            prompt_cache_breakpoint,
            ..
        } => Some(prompt_cache_breakpoint),
        wire::Part::Other(_) | wire::Part::OutputText { .. } | wire::Part::Refusal { .. } => None,
    }
}

/// A message with these parts; plain text is sent as a string, which every server accepts.
fn message_of(mut parts: Vec<wire::Part>, role: wire::Role) -> Option<wire::Item> {
    let content = match parts.as_mut_slice() {
        [] => return None,
        [
            wire::Part::InputText {
                text,
                prompt_cache_breakpoint: None,
            },
        ] => wire::Content::Text(std::mem::take(text)),
        _ => wire::Content::Parts(parts),
    };
    Some(wire::Item::Message(wire::Message {
        role,
        content,
        extra: Map::new(),
    }))
}
