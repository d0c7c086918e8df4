//! Maps a client's conversation.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use jackfield_dialect_kit::client_ids::ClientIds;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};

use super::Invalid;
use crate::chat::wire;

/// The context for mapping messages.
#[derive(Debug)]
pub(super) struct RequestReader<'a> {
    pub(super) ids: ClientIds<'a>,
    pub(super) notes: &'a mut Notes,
    /// The calls of the last assistant message without an outcome, each with the client's id.
    pub(super) open_calls: OpenCalls,
    pub(super) owner: &'a StateOwner,
}

/// Calls without an outcome, in order, each with the client's id.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    by_id: HashMap<String, VecDeque<usize>>,
    calls: BTreeMap<usize, (String, ToolCallId)>,
    next: usize,
}

impl OpenCalls {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn add(&mut self, client_id: String, call: ToolCallId) {
        let nth = self.next;
        self.next += 1;
        self.by_id
            .entry(client_id.clone())
            .or_default()
            .push_back(nth);
        self.calls.insert(nth, (client_id, call));
    }

    /// Whether there are calls with this id, all of which have an outcome.
    fn is_answered(&self, client_id: &str) -> bool {
        self.by_id.get(client_id).is_some_and(VecDeque::is_empty)
    }

    /// The first open call with this id. Some clients send no ids: then outcomes are in the order of the calls.
    fn take(&mut self, client_id: &str) -> Option<ToolCallId> {
        let mut place = self.by_id.get_mut(client_id).and_then(VecDeque::pop_front);
        if place.is_none() && client_id.is_empty() {
            let (first, (its, _)) = self.calls.first_key_value()?;
            self.by_id.get_mut(its).and_then(VecDeque::pop_front);
            place = Some(*first);
        }
        self.calls.remove(&place?).map(|(_, call)| call)
    }
}

/// Maps the conversation; the leading system messages are the system prompt.
pub(super) fn from_wire(
    messages: Vec<wire::Message>,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<(SystemPrompt, Vec<Message>), Invalid> {
    let mut inward = RequestReader {
        ids: ClientIds::new(owner),
        notes,
        open_calls: OpenCalls::default(),
        owner,
    };
    let mut system = SystemPrompt::default();
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    let mut outcomes_open = false;
    for (n, mut message) in messages.into_iter().enumerate() {
        let path = format!("messages.{n}");
        let role = message.role;
        let is_outcome = matches!(role, wire::Role::Function | wire::Role::Tool);
        if message.name.is_some() && !is_outcome {
            let path = format_args!("{path}.name");
            inward
                .notes
                .dropped(NoteEffect::Quality, "name_not_kept", path);
        }
        let blocks = match role {
            wire::Role::Assistant => {
                let message = inward.assistant_blocks(message, &path)?;
                outcomes_open = false;
                out.extend(message);
                continue;
            }
            wire::Role::Function | wire::Role::Tool => vec![inward.outcome(message, &path)?],
            wire::Role::Developer | wire::Role::System | wire::Role::User => {
                let content = message.content.take();
                inward.content(content, &path)?
            }
        };
        let role = match role {
            wire::Role::Developer | wire::Role::System => {
                if out.is_empty() {
                    inward.system(blocks, &path, &mut system)?;
                    continue;
                }
                Role::System
            }
            wire::Role::Function | wire::Role::Tool => Role::Tool,
            wire::Role::Assistant | wire::Role::User => Role::User,
        };
        if blocks.is_empty() {
            continue;
        }
        match out.last_mut() {
            Some(before) if is_outcome && outcomes_open => before.blocks.extend(blocks),
            Some(_) | None => out.push(Message::new(role, blocks)),
        }
        outcomes_open = is_outcome;
    }
    Ok((system, out))
}

impl RequestReader<'_> {
    fn system(
        &mut self,
        blocks: Vec<Block>,
        path: &str,
        system: &mut SystemPrompt,
    ) -> Result<(), Invalid> {
        for block in blocks {
            let Content::Text(text) = block.content else {
                let path = format!("{path}.content");
                return Err(Invalid::new(path, "only text can be here"));
            };
            if block.cache.is_some() {
                let path = format_args!("{path}.content");
                self.notes
                    .dropped(NoteEffect::Cost, "cache_point_not_possible", path);
            }
            system.parts.push(SystemPart {
                origin: PartOrigin::Flag,
                text: text.text,
            });
        }
        Ok(())
    }

    fn outcome(&mut self, message: wire::Message, path: &str) -> Result<Block, Invalid> {
        let client_id = match message.role {
            wire::Role::Function => message.name.as_deref().map(legacy_id),
            wire::Role::Assistant
            | wire::Role::Developer
            | wire::Role::System
            | wire::Role::Tool
            | wire::Role::User => message.tool_call_id,
        };
        let client_id = client_id.unwrap_or_default();
        if !client_id.is_empty() && self.open_calls.is_answered(&client_id) {
            let field = match message.role {
                wire::Role::Function => "name",
                wire::Role::Assistant
                | wire::Role::Developer
                | wire::Role::System
                | wire::Role::Tool
                | wire::Role::User => "tool_call_id",
            };
            let reason = "two results are for this call";
            return Err(Invalid::new(format!("{path}.{field}"), reason));
        }
        let call = self.open_calls.take(&client_id);
        let call = call.unwrap_or_else(|| self.ids.resolve_result(&client_id));
        let (content, cache) = self.parts(message.content, path)?;
        let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
            call,
            result: ToolResult {
                content,
                is_error: false,
                structured: None,
            },
            opaque: Vec::new(),
        }));
        Ok(Block {
            cache,
            ..Block::from(outcome)
        })
    }

    /// The parts of an outcome. The vendor takes only text, but clients also send images.
    fn parts(
        &mut self,
        content: Option<wire::Content>,
        path: &str,
    ) -> Result<
        (
            Vec<OutcomePart>,
            Option<jackfield_domain::block::CachePoint>,
        ),
        Invalid,
    > {
        let mut parts = Vec::new();
        let mut cache = None;
        for block in self.content(content, path)? {
            cache = block.cache.or(cache);
            parts.push(match block.content {
                Content::Audio(audio) => OutcomePart::Audio(audio),
                Content::Document(document) => OutcomePart::Document(document),
                Content::Image(image) => OutcomePart::Image(image),
                Content::Text(text) => OutcomePart::Text(text.text),
                Content::Refusal(text) => OutcomePart::Text(text),
                Content::Opaque(opaque) => {
                    self.notes
                        .approximated(NoteEffect::Quality, "part_as_json_text", path);
                    OutcomePart::Text(opaque.json.to_string().into())
                }
                Content::Thinking(_) | Content::ToolCall(_) | Content::ToolOutcome(_) => {
                    return Err(Invalid::new(path, "an outcome cannot hold this"));
                }
            });
        }
        Ok((parts, cache))
    }
}

/// The id for a legacy function call, which has only its name.
pub(super) fn legacy_id(name: &str) -> String {
    format!("call_{name}")
}
