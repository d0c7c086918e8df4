//! Maps the conversation: domain messages as items.

use std::collections::HashMap;
use std::fmt;

use jackfield_dialect_kit::ids::WireIds;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{Block, CachePoint, Content, Text};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use serde_json::{Map, Value};

use super::Unsupported;
use crate::profile::{Profile, SystemRole};
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
    /// How each call was sent, for its output.
    pub(super) sent_calls: HashMap<ToolCallId, SentCall>,
}

/// How a call was sent.
#[derive(Debug)]
pub(super) struct SentCall {
    /// The caller, if the provider names one; the output repeats it.
    pub(super) caller: Option<Value>,
    /// Whether it is a text tool's call.
    pub(super) custom: bool,
}

/// A place in the conversation; its path is written out only when a note needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPath {
    pub(super) message: usize,
    pub(super) block: usize,
    pub(super) role: Role,
}

impl fmt::Display for BlockPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "messages[{}].blocks[{}]", self.message, self.block)
    }
}

impl BlockPath {
    pub(super) fn unsupported(self, reason: &'static str) -> Unsupported {
        Unsupported {
            path: self.to_string(),
            reason,
        }
    }
}

/// Maps the system prompt and the conversation.
pub(super) fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &Profile,
    notes: &mut Notes,
) -> Result<MappedConversation, Unsupported> {
    let mut system: Vec<String> = Vec::new();
    for (n, part) in request.system.parts.iter().enumerate() {
        if part.text.trim().is_empty() {
            let path = format_args!("system.parts[{n}]");
            notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
        } else {
            system.push((*part.text).to_owned());
        }
    }
    let mut writer = RequestWriter {
        ids: WireIds::new(request, owner, profile.call_ids),
        notes,
        owner,
        profile,
        sent_calls: HashMap::new(),
    };
    let mut items: Vec<wire::Item> = Vec::new();
    let mut last = None;
    for (n, message) in request.messages.iter().enumerate() {
        writer.withhold_of_message(n, message);
        if message.blocks.is_empty() {
            let path = format_args!("messages[{n}]");
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
            let path = format_args!("messages[{n}]");
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
    fn withhold_of_message(&mut self, n: usize, message: &Message) {
        for (k, _) in message.opaque.iter().enumerate() {
            let path = format_args!("messages[{n}].opaque[{k}]");
            self.notes
                .dropped(NoteEffect::Quality, "state_withheld", path);
        }
    }

    /// Notes all opaque state of a block that is not sent: all but the one at index `sent`.
    pub(super) fn withhold(&mut self, at: BlockPath, block: &Block, sent: Option<usize>) {
        for k in (0..block.opaque.len()).filter(|k| Some(*k) != sent) {
            let path = format_args!("{at}.opaque[{k}]");
            self.notes
                .dropped(NoteEffect::Quality, "state_withheld", path);
        }
    }

    /// Notes a cache point that cannot be placed.
    pub(super) fn note_lost_cache_point(&mut self, at: BlockPath, block: &Block) {
        if block.cache.is_some() {
            let path = format_args!("{at}.cache");
            self.notes
                .dropped(NoteEffect::Cost, "cache_point_not_possible", path);
        }
    }

    /// The cache point of a block, if the server supports cache points.
    pub(super) fn cache_point(
        &mut self,
        at: BlockPath,
        block: &Block,
    ) -> Option<wire::CacheBreakpoint> {
        let CachePoint { seconds } = block.cache?;
        if !self.profile.cache_points {
            self.note_lost_cache_point(at, block);
            return None;
        }
        if !matches!(seconds, None | Some(HALF_AN_HOUR | TWELVE_HOURS)) {
            let path = format_args!("{at}.cache");
            self.notes
                .approximated(NoteEffect::Cost, "cache_lifetime", path);
        }
        let ttl = seconds.map(|seconds| {
            if seconds <= HALF_AN_HOUR {
                "30m"
            } else {
                "12h"
            }
        });
        Some(wire::CacheBreakpoint {
            mode: "explicit".to_owned(),
            ttl: ttl.map(str::to_owned),
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
        for (b, block) in message.blocks.iter().enumerate() {
            let at = BlockPath {
                message: n,
                block: b,
                role: message.role,
            };
            if let Content::ToolOutcome(outcome) = &block.content {
                self.withhold(at, block, None);
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
        for (b, block) in message.blocks.iter().enumerate() {
            let at = BlockPath {
                message: n,
                block: b,
                role: message.role,
            };
            parts.extend(self.part(at, block)?);
        }
        Ok(parts)
    }

    /// A block that is not the model's; `None` if it is left out, which has been noted.
    fn part(&mut self, at: BlockPath, block: &Block) -> Result<Option<wire::Part>, Unsupported> {
        let words = match &block.content {
            Content::Audio(_) => return Err(at.unsupported("this language has no sounds")),
            Content::Document(document) => {
                self.withhold(at, block, None);
                let part = self.document(at, document)?;
                return Ok(part.map(|part| self.cached(at, block, part)));
            }
            Content::Image(image) => {
                self.withhold(at, block, None);
                let part = self.image(at, image)?;
                return Ok(Some(self.cached(at, block, part)));
            }
            Content::Opaque(opaque) => match self.fallback(at, opaque) {
                Some(text) => text,
                None => return Ok(None),
            },
            Content::Refusal(text) => {
                let Some(text) = self.non_blank(at, text) else {
                    return Ok(None);
                };
                self.notes
                    .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
                text
            }
            Content::Text(Text { annotations, text }) => {
                let Some(text) = self.non_blank(at, text) else {
                    return Ok(None);
                };
                for k in 0..annotations.len() {
                    let path = format_args!("{at}.annotations[{k}]");
                    self.notes
                        .dropped(NoteEffect::Quality, "annotation_not_sent", path);
                }
                text
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
        self.withhold(at, block, None);
        let part = wire::Part::InputText {
            text: words,
            prompt_cache_breakpoint: None,
        };
        Ok(Some(self.cached(at, block, part)))
    }

    /// The text; blank text is noted and left out.
    pub(super) fn non_blank(&mut self, at: BlockPath, text: &str) -> Option<String> {
        if text.trim().is_empty() {
            self.notes.dropped(NoteEffect::Cosmetic, "blank_text", at);
            return None;
        }
        Some(text.to_owned())
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

/// Half an hour in seconds, the shorter of the two lifetimes.
pub(super) const HALF_AN_HOUR: u32 = 1800;
/// Twelve hours in seconds, the longer one.
pub(super) const TWELVE_HOURS: u32 = 43200;
