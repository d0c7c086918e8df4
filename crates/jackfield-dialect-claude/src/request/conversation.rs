//! Maps the conversation: domain messages as wire messages, and their cache points.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jackfield_dialect_kit::ids::{IdForm, WireIds};
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::{Extension, StateOwner};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::system_prompt::PartOrigin;
use serde_json::Value;

use super::Unsupported;
use super::extensions::SYSTEM;
use super::tool_search::References;
use crate::options::Profile;
use crate::property_names::PropertyNames;
use crate::reply::state;
use crate::{DIALECT, wire};

/// The mapped conversation and system prompt.
#[derive(Debug)]
pub(super) struct MappedConversation {
    /// The paths of the cache points, in order.
    pub(super) cache_paths: Vec<String>,
    /// The extensions that set a cache point in the system prompt, by their paths, in order.
    pub(super) system_cache_paths: Vec<String>,
    /// The names of the called tools, in order.
    pub(super) called_tools: Vec<String>,
    pub(super) messages: Vec<wire::InputMessage>,
    pub(super) system: Vec<wire::Block>,
}

/// The context for mapping blocks.
#[derive(Debug)]
pub(super) struct RequestWriter<'a> {
    pub(super) cache_paths: Vec<String>,
    pub(super) called_tools: Vec<String>,
    pub(super) ids: WireIds,
    /// The renamed properties, by tool.
    pub(super) names: HashMap<String, Arc<PropertyNames>>,
    pub(super) notes: &'a mut Notes,
    pub(super) owner: &'a StateOwner,
    pub(super) references: References,
    /// The provider-run calls that have a result, by the provider's id.
    pub(super) complete_calls: HashSet<String>,
    /// The toolset of each call, for its result.
    pub(super) toolsets: HashMap<ToolCallId, String>,
}

/// Maps the system prompt and the conversation.
pub(super) fn to_wire(
    request: &ModelRequest,
    tools: &[wire::Tool],
    references: References,
    owner: &StateOwner,
    profile: &Profile,
    notes: &mut Notes,
) -> Result<MappedConversation, Unsupported> {
    let (mut system, mut cached_system) = (Vec::new(), Vec::new());
    // The client's own parts have a separate index, as others may precede them.
    let mut own = 0;
    for part in notes.system_parts(&request.system) {
        let mut block = plain(&part.text);
        if part.origin == PartOrigin::Flag {
            let path = format!("{SYSTEM}/{own}/cache_control");
            own += 1;
            if let (Some(place), Some(cache)) = (
                cache_control(&mut block),
                cache_point(&request.settings.extensions, &path),
            ) {
                *place = Some(cache);
                cached_system.push(path);
            }
        }
        system.push(block);
    }
    let mut outward = RequestWriter {
        cache_paths: Vec::new(),
        called_tools: Vec::new(),
        ids: WireIds::new(request, owner, IdForm::Usual),
        notes,
        owner,
        complete_calls: complete_provider_calls(request, owner),
        names: names(tools),
        references,
        toolsets: HashMap::new(),
    };
    let mut messages: Vec<wire::InputMessage> = Vec::new();
    let mut last = None;
    for (n, message) in request.messages.iter().enumerate() {
        let blocks = outward.message(n, message)?;
        let can_have_settings = profile.system_messages && !messages.is_empty();
        let settings = outward.settings(n, message, can_have_settings);
        if blocks.is_empty() && settings.is_none() {
            if message.blocks.is_empty() && message.opaque.is_empty() {
                let path = format_args!("messages[{n}]");
                outward
                    .notes
                    .dropped(NoteEffect::Cosmetic, "empty_message", path);
            }
            continue;
        }
        let path = format_args!("messages[{n}]");
        let mut noted = false;
        let role = match message.role {
            Role::Assistant => wire::Role::Assistant,
            Role::Tool | Role::User => wire::Role::User,
            Role::System if messages.is_empty() => {
                outward
                    .notes
                    .approximated(NoteEffect::Cosmetic, "system_message_moved", path);
                outward.drop_cache_points(n);
                system.extend(blocks.into_iter().map(without_cache_point));
                continue;
            }
            Role::System if profile.system_messages => wire::Role::System,
            Role::System => {
                outward
                    .notes
                    .approximated(NoteEffect::Meaning, "system_message_as_user", path);
                noted = true;
                wire::Role::User
            }
        };
        match messages.last_mut() {
            // The vendor merges consecutive messages with the same role.
            Some(before) if before.role == role && role != wire::Role::System => {
                // Results and the user's following text are two messages in the domain, and one for Claude.
                let after_results = last == Some(Role::Tool) && message.role == Role::User;
                if !after_results && !noted {
                    outward
                        .notes
                        .approximated(NoteEffect::Cosmetic, "messages_merged", path);
                }
                if let Some(wire::Content::Blocks(said)) = &mut before.content {
                    said.extend(blocks);
                }
            }
            Some(_) | None => messages.push(wire::InputMessage {
                role,
                content: (!blocks.is_empty()).then_some(wire::Content::Blocks(blocks)),
                clear_at: settings.and_then(|settings| settings.get("clear_at").cloned()),
                output_config: settings.and_then(|settings| settings.get("output_config").cloned()),
            }),
        }
        last = Some(message.role);
    }
    let RequestWriter {
        cache_paths: cached,
        called_tools: called,
        ..
    } = outward;
    if let Some(end) = request.messages.last() {
        check_end(
            end,
            request.messages.len() - 1,
            &mut messages,
            profile,
            notes,
        )?;
    }
    Ok(MappedConversation {
        cache_paths: cached,
        system_cache_paths: cached_system,
        called_tools: called,
        messages,
        system,
    })
}

/// The renamed properties, by tool.
pub(crate) fn names(tools: &[wire::Tool]) -> HashMap<String, Arc<PropertyNames>> {
    let renamed = tools.iter().filter_map(|tool| {
        let (name, names) = (tool.name.as_ref()?, tool.names.as_ref()?);
        Some((name.clone(), Arc::clone(names)))
    });
    renamed.collect()
}

/// Keeps at most four cache points, the last ones, which cover the longest prefixes. Returns their number.
///
/// Those that extensions set count, too (Claude Messages API: at most 4 breakpoints in a request), as do those that are
/// fixed in opaque blocks. The system prompt's take precedence over all but the last one of the conversation.
pub(super) fn limit_cache_points(
    messages: &mut [wire::InputMessage],
    cached: Vec<String>,
    in_system: usize,
    fixed: usize,
    body: &wire::Request,
    notes: &mut Notes,
) -> usize {
    let tools = body.tools.iter().flatten();
    let elsewhere = tools
        .map(|tool| &tool.extra)
        .chain([&body.extra])
        .filter(|extra| extra.contains_key("cache_control"))
        .count();
    let set = cached.len();
    let free = 4_usize.saturating_sub(elsewhere + fixed);
    let most = free.saturating_sub(in_system).max(free.min(1));
    let excess = set.saturating_sub(most);
    for path in cached.into_iter().take(excess) {
        notes.dropped(
            NoteEffect::Cost,
            "too_many_cache_points",
            format_args!("{path}.cache"),
        );
    }
    let blocks = messages
        .iter_mut()
        .filter_map(|message| match &mut message.content {
            Some(wire::Content::Blocks(blocks)) => Some(blocks),
            Some(wire::Content::Text(_)) | None => None,
        });
    blocks
        .flatten()
        .filter_map(cache_control)
        .filter(|cache| cache.is_some())
        .take(excess)
        .for_each(|cache| *cache = None);
    set - excess
}

/// Keeps the last cache points of the system prompt, as many as those of the tools and of the conversation permit.
pub(super) fn limit_system_cache_points(
    body: &mut wire::Request,
    set: &[String],
    in_conversation: usize,
    notes: &mut Notes,
) {
    let tools = body.tools.iter().flatten().map(|tool| &tool.extra);
    let extras = tools.chain([&body.extra]);
    let others = extras.filter(|extra| extra.contains_key("cache_control"));
    let most = 4_usize.saturating_sub(others.count() + in_conversation);
    let excess = set.len().saturating_sub(most);
    for path in set.iter().take(excess) {
        let path = format_args!("settings.extensions.{DIALECT}{}", path.replace('/', "."));
        notes.dropped(NoteEffect::Cost, "too_many_cache_points", path);
    }
    let Some(wire::System::Blocks(blocks)) = &mut body.system else {
        return;
    };
    let points = blocks.iter_mut().filter_map(cache_control);
    let points = points.filter(|point| point.is_some());
    points.take(excess).for_each(|point| *point = None);
}

/// The client's cache point at this place of the system prompt.
fn cache_point(extensions: &[Extension], path: &str) -> Option<wire::CacheControl> {
    let is_it = |extension: &&Extension| *extension.dialect == *DIALECT && extension.path == path;
    let extension = extensions.iter().find(is_it)?;
    serde_json::from_value(extension.json.clone()).ok()
}

impl RequestWriter<'_> {
    /// The settings of a system message, if the message can have them and this owner set them; the state of others
    /// is withheld.
    fn settings<'m>(
        &mut self,
        n: usize,
        message: &'m Message,
        can_have_settings: bool,
    ) -> Option<&'m Value> {
        let mut settings = None;
        for (k, state) in message.opaque.iter().enumerate() {
            let is_ours = *state.kind == *state::MESSAGE_SETTINGS && state.owner == *self.owner;
            if is_ours && can_have_settings && message.role == Role::System {
                settings = Some(&state.json);
            } else {
                self.notes.dropped(
                    NoteEffect::Quality,
                    "state_withheld",
                    format_args!("messages[{n}].opaque[{k}]"),
                );
            }
        }
        settings
    }

    fn message(&mut self, n: usize, message: &Message) -> Result<Vec<wire::Block>, Unsupported> {
        let mut blocks = Vec::with_capacity(message.blocks.len());
        for (at, block) in BlockPath::of(message, n) {
            if let Some(mut wire) = self.block(at, block)? {
                self.set_cache_point(at, block, &mut wire);
                blocks.push(wire);
            }
        }
        Ok(blocks)
    }

    /// Removes the cache points of a message that joins the system prompt, which has none.
    fn drop_cache_points(&mut self, n: usize) {
        let prefix = format!("messages[{n}].");
        while let Some(path) = self.cache_paths.pop_if(|path| path.starts_with(&prefix)) {
            let path = format_args!("{path}.cache");
            self.notes
                .dropped(NoteEffect::Cost, "cache_point_not_possible", path);
        }
    }

    fn set_cache_point(&mut self, at: BlockPath, block: &Block, wire: &mut wire::Block) {
        let Some(point) = block.cache else { return };
        let Some(cache) = cache_control(wire) else {
            self.notes.cache_point_lost(at, block);
            return;
        };
        *cache = Some(wire::CacheControl {
            kind: "ephemeral".to_owned(),
            ttl: self.notes.cache_lifetime(at, point, LIFETIMES),
        });
        self.cache_paths.push(at.to_string());
    }
}

/// The lifetimes of a cache point, in seconds.
const LIFETIMES: [(u32, &str); 2] = [(300, "5m"), (3600, "1h")];

pub(super) fn plain(text: &str) -> wire::Block {
    wire::Block::Text {
        text: text.to_owned(),
        citations: None,
        cache_control: None,
    }
}

/// The field of a block for a cache point; thinking and unknown blocks have none.
pub(super) fn cache_control(block: &mut wire::Block) -> Option<&mut Option<wire::CacheControl>> {
    match block {
        wire::Block::Document { cache_control, .. }
        | wire::Block::Image { cache_control, .. }
        | wire::Block::Text { cache_control, .. } => Some(cache_control),
        wire::Block::ToolResult(result) => Some(&mut result.cache_control),
        wire::Block::ToolUse(call) => Some(&mut call.cache_control),
        wire::Block::Other(_)
        | wire::Block::RedactedThinking { .. }
        | wire::Block::Thinking { .. } => None,
    }
}

fn without_cache_point(mut block: wire::Block) -> wire::Block {
    if let Some(cache) = cache_control(&mut block) {
        *cache = None;
    }
    block
}

/// Checks the last message: a prefill only if the model supports it, and without trailing blanks.
fn check_end(
    end: &Message,
    place: usize,
    messages: &mut [wire::InputMessage],
    profile: &Profile,
    notes: &mut Notes,
) -> Result<(), Unsupported> {
    let Some(wire::InputMessage {
        role: wire::Role::Assistant,
        content: Some(wire::Content::Blocks(blocks)),
        ..
    }) = messages.last_mut()
    else {
        return Ok(());
    };
    // A paused reply is sent back unchanged; it contains a provider-run call that is not withheld.
    let paused = end.calls().any(|call| call.ran_by == RanBy::Provider)
        && blocks
            .iter()
            .any(|block| matches!(block, wire::Block::Other(_)));
    if !profile.prefill && !paused {
        return Err(Unsupported {
            path: format!("messages[{place}]"),
            reason: "this model does not continue words of its own; end with a message of the user",
        });
    }
    if let Some(wire::Block::Text { text, .. }) = blocks.last_mut() {
        let trimmed_len = text.trim_end().len();
        if trimmed_len < text.len() {
            text.truncate(trimmed_len);
            let block = end.blocks.len().saturating_sub(1);
            notes.approximated(
                NoteEffect::Cosmetic,
                "prefill_trimmed",
                format_args!("messages[{place}].blocks[{block}].text"),
            );
        }
    }
    Ok(())
}

/// The provider-run calls of this owner that have a result anywhere, and those of a paused reply.
///
/// Call and result are only sent together (Claude Messages API: they are never split).
fn complete_provider_calls(request: &ModelRequest, owner: &StateOwner) -> HashSet<String> {
    let mut calls = HashSet::new();
    let mut results = HashSet::new();
    let last = request.messages.len().saturating_sub(1);
    for (n, message) in request.messages.iter().enumerate() {
        if message.role != Role::Assistant {
            continue;
        }
        for block in &message.blocks {
            if let Some(call) = state::provider_call(block, owner) {
                calls.insert(call.id.to_owned());
                if n == last {
                    results.insert(call.id.to_owned());
                }
            } else if let Content::Opaque(opaque) = &block.content
                && opaque.owner == *owner
                && let Some(id) = state::result_of(&opaque.json)
            {
                results.insert(id.to_owned());
            }
        }
    }
    calls.retain(|id| results.contains(id));
    calls
}
