//! Maps the conversation: domain messages as turns of user and model, and their cache points.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jackfield_dialect_claude::property_names::PropertyNames;
use jackfield_dialect_kit::ids::{IdForm, WireIds};
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;

use super::Unsupported;
use crate::profile::ModelProfile;
use crate::wire;

/// The mapped conversation and system prompt.
#[derive(Debug)]
pub(super) struct MappedConversation {
    /// The names of the called tools, in order.
    pub(super) called: Vec<String>,
    pub(super) messages: Vec<wire::Message>,
    pub(super) system: Vec<wire::ContentBlock>,
}

/// The context for mapping blocks.
pub(super) struct RequestWriter<'a> {
    /// The paths of the cache points, in order.
    cache_paths: Vec<String>,
    pub(super) called: Vec<String>,
    pub(super) ids: WireIds,
    pub(super) names: HashSet<String>,
    pub(super) notes: &'a mut Notes,
    pub(super) owner: &'a StateOwner,
    pub(super) profile: &'a ModelProfile,
    pub(super) properties: HashMap<String, Arc<PropertyNames>>,
    /// The images of results that the user shows after the results of a message.
    pub(super) shown: Vec<wire::ContentBlock>,
}

/// Maps the system prompt and the conversation.
pub(super) fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &ModelProfile,
    notes: &mut Notes,
) -> Result<MappedConversation, Unsupported> {
    let parts = notes.system_parts(&request.system);
    let parts = parts
        .into_iter()
        .map(|part| wire::ContentBlock::Text((*part.text).to_owned()));
    let mut system: Vec<wire::ContentBlock> = parts.collect();
    let mut writer = RequestWriter {
        cache_paths: Vec::new(),
        called: Vec::new(),
        ids: WireIds::new(request, owner, IdForm::Usual),
        names: HashSet::new(),
        notes,
        owner,
        profile,
        properties: profile.property_names(request),
        shown: Vec::new(),
    };
    let mut messages: Vec<wire::Message> = Vec::new();
    let mut last = None;
    for (n, message) in request.messages.iter().enumerate() {
        let path = format_args!("messages[{n}]");
        writer.notes.withheld(path, &message.opaque, &[]);
        let content = writer.message(n, message)?;
        if content.is_empty() {
            if message.blocks.is_empty() {
                writer
                    .notes
                    .dropped(NoteEffect::Cosmetic, "empty_message", path);
            }
            continue;
        }
        let mut is_noted = false;
        let role = match message.role {
            Role::Assistant => wire::Role::Assistant,
            Role::Tool | Role::User => wire::Role::User,
            Role::System if messages.is_empty() => {
                writer
                    .notes
                    .approximated(NoteEffect::Cosmetic, "system_message_moved", path);
                writer.drop_cache_points(n);
                let is_point =
                    |block: &wire::ContentBlock| matches!(block, wire::ContentBlock::CachePoint(_));
                system.extend(content.into_iter().filter(|block| !is_point(block)));
                continue;
            }
            Role::System if profile.system_messages() => wire::Role::System,
            Role::System => {
                writer
                    .notes
                    .approximated(NoteEffect::Meaning, "system_message_as_user", path);
                is_noted = true;
                wire::Role::User
            }
        };
        match messages.last_mut() {
            // Turns of user and model have to alternate.
            Some(before) if before.role == role && role != wire::Role::System => {
                // Results and the user's following text are two messages in the domain, and one on the wire.
                let after_results = last == Some(Role::Tool) && message.role == Role::User;
                if !after_results && !is_noted {
                    writer
                        .notes
                        .approximated(NoteEffect::Cosmetic, "messages_merged", path);
                }
                before.content.extend(content);
            }
            Some(_) | None => messages.push(wire::Message { role, content }),
        }
        last = Some(message.role);
    }
    let RequestWriter {
        cache_paths,
        called,
        ..
    } = writer;
    limit_cache_points(&mut messages, &cache_paths, notes);
    if let Some(first) = messages.first()
        && first.role == wire::Role::Assistant
    {
        // A conversation has to begin with the user.
        notes.approximated(NoteEffect::Cosmetic, "user_message_added", "messages");
        let message = wire::Message {
            role: wire::Role::User,
            content: vec![wire::ContentBlock::Text(BEFORE_MODEL.to_owned())],
        };
        messages.insert(0, message);
    }
    let is_prefill = messages
        .last()
        .is_some_and(|last| last.role == wire::Role::Assistant);
    if is_prefill && !profile.prefill() {
        return Err(Unsupported {
            path: format!("messages[{}]", request.messages.len().saturating_sub(1)),
            reason: "this model does not continue words of its own; end with a message of the user",
        });
    }
    Ok(MappedConversation {
        called,
        messages,
        system,
    })
}

/// Keeps at most four cache points, the last ones, which cover the longest prefixes.
fn limit_cache_points(messages: &mut [wire::Message], paths: &[String], notes: &mut Notes) {
    let mut excess = paths.len().saturating_sub(MOST_CACHE_POINTS);
    for path in paths.iter().take(excess) {
        let path = format_args!("{path}.cache");
        notes.dropped(NoteEffect::Cost, "too_many_cache_points", path);
    }
    for message in messages {
        message.content.retain(|block| {
            let goes = excess > 0 && matches!(block, wire::ContentBlock::CachePoint(_));
            excess -= usize::from(goes);
            !goes
        });
    }
}

impl RequestWriter<'_> {
    fn message(
        &mut self,
        n: usize,
        message: &Message,
    ) -> Result<Vec<wire::ContentBlock>, Unsupported> {
        let mut content = Vec::with_capacity(message.blocks.len());
        for (at, block) in BlockPath::of(message, n) {
            if let Some(sent) = self.block(at, block)? {
                let point = self.cache_point(at, block);
                content.push(sent);
                content.extend(point);
            }
        }
        content.append(&mut self.shown);
        let has = |is_kind: fn(&wire::ContentBlock) -> bool| content.iter().any(is_kind);
        if has(|block| matches!(block, wire::ContentBlock::Document(_)))
            && !has(|block| matches!(block, wire::ContentBlock::Text(_)))
        {
            // A document without a text is refused.
            let path = format_args!("messages[{n}].blocks");
            self.notes
                .approximated(NoteEffect::Cosmetic, "text_beside_document", path);
            content.push(wire::ContentBlock::Text(BESIDE_DOCUMENT.to_owned()));
        }
        Ok(content)
    }

    /// The cache point after a block, if it has one.
    fn cache_point(&mut self, at: BlockPath, block: &Block) -> Option<wire::ContentBlock> {
        let point = block.cache?;
        let is_thought = matches!(block.content, Content::Thinking(_));
        if !self.profile.cache_points || is_thought {
            self.notes.cache_point_lost(at, block);
            return None;
        }
        let ttl = self.notes.cache_lifetime(at, point, LIFETIMES);
        self.cache_paths.push(at.to_string());
        Some(wire::ContentBlock::CachePoint(wire::CachePoint {
            kind: "default",
            ttl,
        }))
    }

    /// Removes the cache points of a message that joins the system prompt.
    fn drop_cache_points(&mut self, n: usize) {
        let prefix = format!("messages[{n}].");
        while let Some(path) = self.cache_paths.pop_if(|path| path.starts_with(&prefix)) {
            let path = format_args!("{path}.cache");
            self.notes
                .dropped(NoteEffect::Cost, "cache_point_not_possible", path);
        }
    }
}

/// The text before a conversation that begins with the model.
const BEFORE_MODEL: &str = "[The conversation begins with your message.]";
/// The text beside a document that stands alone.
const BESIDE_DOCUMENT: &str = "This is the document.";
/// The lifetimes of a cache point, in seconds.
const LIFETIMES: [(u32, &str); 2] = [(300, "5m"), (3600, "1h")];
/// The most cache points of a request.
const MOST_CACHE_POINTS: usize = 4;
