//! Maps the items of a client's conversation to messages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jackfield_dialect_kit::client_ids::ClientIds;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{
    Block, CalledName, Content, OpaqueBlock, RanBy, Text, Thinking, ToolCall, UpstreamId,
};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::{OpaqueState, StateOwner};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Map, Value, json};

use super::Invalid;
use super::parts::well_formed;
use crate::responses::reply::without_upstream;
use crate::responses::serve::response_of_item;
use crate::responses::state::{self, MessagePart};
use crate::responses::wire;

/// The context for mapping items.
#[derive(Debug)]
pub(super) struct RequestReader<'a> {
    /// The calls with an output since the last assistant item.
    answered: HashSet<ToolCallId>,
    /// The caller of each call, if given.
    callers: HashMap<ToolCallId, Value>,
    pub(super) ids: ClientIds<'a>,
    pub(super) notes: &'a mut Notes,
    pub(super) owner: &'a StateOwner,
    /// The providers' ids of the calls so far.
    provider_calls: HashSet<Arc<str>>,
}

/// Maps the conversation: consecutive assistant items become one message, and so do consecutive outputs.
pub(super) fn from_wire(
    input: wire::Input,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<Vec<Message>, Invalid> {
    let items = match input {
        wire::Input::Items(items) => items,
        wire::Input::Text(text) => vec![wire::Item::Message(wire::Message {
            role: wire::Role::User,
            content: wire::Content::Text(text),
            extra: Map::new(),
        })],
    };
    let mut inward = RequestReader {
        answered: HashSet::new(),
        callers: HashMap::new(),
        ids: ClientIds::new(owner),
        notes,
        owner,
        provider_calls: HashSet::new(),
    };
    let mut messages: Vec<Message> = Vec::new();
    for (n, item) in items.into_iter().enumerate() {
        let (role, blocks) = inward.item(item, &format!("input.{n}"))?;
        if blocks.is_empty() {
            continue;
        }
        if role == Role::Assistant {
            inward.answered.clear();
        }
        let joins = matches!(role, Role::Assistant | Role::Tool);
        match messages.last_mut() {
            Some(last) if joins && last.role == role => last.blocks.extend(blocks),
            Some(_) | None => messages.push(Message::new(role, blocks)),
        }
    }
    Ok(messages)
}

impl RequestReader<'_> {
    fn item(&mut self, item: wire::Item, path: &str) -> Result<(Role, Vec<Block>), Invalid> {
        let said = |block: Block| Ok((Role::Assistant, vec![block]));
        match item {
            wire::Item::CustomToolCall(call) => {
                let input = ToolInput::Text(call.input.into());
                said(self.call(&call.call_id, &call.name, input, call.extra))
            }
            wire::Item::FunctionCall(call) => {
                let arguments = state::arguments_text(&call.arguments);
                let input = ToolInput::Json(JsonInput::parse(&arguments));
                said(self.call(&call.call_id, &call.name, input, call.extra))
            }
            wire::Item::CustomToolCallOutput(output) | wire::Item::FunctionCallOutput(output) => {
                Ok((Role::Tool, vec![self.output(output, path)?]))
            }
            // An item of an unknown type with the fields of a message.
            wire::Item::Easy(message)
                if message
                    .extra
                    .get("type")
                    .is_some_and(|kind| !kind.is_null()) =>
            {
                let fields = serde_json::to_value(message).ok();
                let fields = fields.and_then(|json| json.as_object().cloned());
                self.other(fields.unwrap_or_default(), path)
            }
            wire::Item::Easy(message) | wire::Item::Message(message) => self.message(message, path),
            wire::Item::Reasoning(reasoning) => {
                let content = Content::Thinking(Thinking {
                    redacted: false,
                    text: state::reasoning_text(&reasoning.fields).into(),
                });
                let kind = ("type".to_owned(), json!("reasoning"));
                let fields = std::iter::once(kind).chain(reasoning.fields).collect();
                said(self.with_state(content, state::REASONING, Value::Object(fields)))
            }
            wire::Item::Other(fields) => self.other(fields, path),
        }
    }

    fn message(
        &mut self,
        message: wire::Message,
        path: &str,
    ) -> Result<(Role, Vec<Block>), Invalid> {
        let role = match message.role {
            wire::Role::Assistant => {
                return Ok((Role::Assistant, self.assistant(message, path)?));
            }
            wire::Role::Developer | wire::Role::System => Role::System,
            wire::Role::User => Role::User,
        };
        if message.extra.values().any(|json| !json.is_null()) {
            self.notes
                .dropped(NoteEffect::Cosmetic, "item_fields_not_kept", path);
        }
        let parts = match message.content {
            wire::Content::Parts(parts) => parts,
            wire::Content::Text(text) => vec![wire::Part::InputText {
                text,
                prompt_cache_breakpoint: None,
            }],
        };
        let mut blocks = Vec::with_capacity(parts.len());
        for (k, part) in parts.into_iter().enumerate() {
            blocks.extend(self.part(part, &format!("{path}.content.{k}"))?);
        }
        Ok((role, blocks))
    }

    /// The model's text: blocks that record their part and item.
    fn assistant(&mut self, message: wire::Message, path: &str) -> Result<Vec<Block>, Invalid> {
        let mut extra = message.extra;
        extra.retain(|_, json| !json.is_null());
        let parts = match message.content {
            wire::Content::Text(text) if extra.is_empty() => {
                if text.trim().is_empty() {
                    self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                    return Ok(Vec::new());
                }
                return Ok(vec![Block::text(text)]);
            }
            wire::Content::Text(text) => vec![wire::Part::OutputText {
                text,
                annotations: Vec::new(),
            }],
            wire::Content::Parts(parts) => parts,
        };
        let mut blocks = Vec::with_capacity(parts.len());
        for (k, part) in parts.into_iter().enumerate() {
            let path = format!("{path}.content.{k}");
            let content = match part {
                // Some clients send all of their text as input.
                wire::Part::InputText { text, .. } => words(text, Vec::new()),
                wire::Part::OutputText { text, annotations } => words(text, annotations),
                wire::Part::Refusal { refusal } => Content::Refusal(refusal.into()),
                wire::Part::Other(fields) => {
                    well_formed(&fields, &path)?;
                    self.notes
                        .dropped(NoteEffect::Quality, "part_not_kept", path);
                    continue;
                }
                wire::Part::InputFile { .. } | wire::Part::InputImage { .. } => {
                    return Err(Invalid::new(path, "an assistant message holds words alone"));
                }
            };
            let plain = matches!(&content, Content::Text(text) if text.annotations.is_empty());
            if plain && extra.is_empty() {
                blocks.push(content.into());
                continue;
            }
            let part = MessagePart::write(&extra, blocks.len());
            blocks.push(self.with_state(content, state::MESSAGE, part));
        }
        Ok(blocks)
    }

    fn call(
        &mut self,
        call_id: &str,
        name: &str,
        input: ToolInput,
        mut extra: Map<String, Value>,
    ) -> Block {
        let (id, mut upstream) = self.ids.register_call(call_id);
        extra.retain(|_, json| !json.is_null());
        if let Some(Value::String(item)) = extra.get_mut("id")
            && let (ours, Some(theirs)) = without_upstream(item)
            && response_of_item(ours).is_some()
        {
            // The provider's id of the call came in its item's id; some clients use the same one for all calls.
            let id: Arc<str> = theirs.into();
            if self.provider_calls.insert(Arc::clone(&id)) {
                let owner = self.owner.clone();
                upstream = Some(UpstreamId { id, owner });
            }
            *item = ours.to_owned();
        }
        if let Some(caller) = extra.get("caller") {
            self.callers.insert(id.clone(), caller.clone());
        }
        let content = Content::ToolCall(Arc::new(ToolCall {
            id,
            input,
            name: CalledName::new(name),
            ran_by: RanBy::Engine,
            upstream,
        }));
        if extra.is_empty() {
            return content.into();
        }
        self.with_state(content, state::CALL, Value::Object(extra))
    }

    fn output(&mut self, output: wire::Output, path: &str) -> Result<Block, Invalid> {
        let call = self.ids.resolve_result(&output.call_id);
        if !self.answered.insert(call.clone()) {
            let reason = "two results are for this call";
            return Err(Invalid::new(format!("{path}.call_id"), reason));
        }
        let mut cache = None;
        let mut content = Vec::new();
        match output.output {
            wire::OutputContent::Text(text) if text.trim().is_empty() => {}
            wire::OutputContent::Text(text) => {
                content.push(jackfield_domain::outcome::OutcomePart::Text(text.into()));
            }
            wire::OutputContent::Parts(parts) => {
                let last = parts.len().saturating_sub(1);
                for (k, part) in parts.into_iter().enumerate() {
                    let path = format!("{path}.output.{k}");
                    let (part, point) = self.outcome_part(part, &path)?;
                    content.extend(part);
                    if k == last {
                        cache = point;
                    } else if point.is_some() {
                        // An outcome can only be cached as a whole.
                        self.notes
                            .dropped(NoteEffect::Cost, "cache_point_not_possible", path);
                    }
                }
            }
        }
        let mut extra = output.extra;
        // Usually equal to the call's own caller.
        let caller = self.callers.get(&call);
        extra.retain(|key, json| !(json.is_null() || (key == "caller" && Some(&*json) == caller)));
        let state = (!extra.is_empty())
            .then(|| state::block_state(self.owner, state::OUTPUT, Value::Object(extra)));
        let content = Content::ToolOutcome(Arc::new(ToolOutcome {
            call,
            result: ToolResult {
                content,
                is_error: false,
                structured: None,
            },
            opaque: state.into_iter().collect(),
        }));
        Ok(Block {
            cache,
            content,
            opaque: Vec::new(),
        })
    }

    /// An opaque item, unless it would make the provider act.
    fn other(
        &mut self,
        fields: Map<String, Value>,
        path: &str,
    ) -> Result<(Role, Vec<Block>), Invalid> {
        let kind = fields
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if kind.is_empty() {
            let path = format!("{path}.type");
            return Err(Invalid::new(path, "an item has a type, or is a message"));
        }
        if state::KNOWN_ITEMS.contains(&kind) {
            let reason = format!("this is no well-formed {kind}");
            return Err(Invalid::new(path, reason));
        }
        if kind == "item_reference" {
            let reason = "items are not kept here: send the item itself";
            return Err(Invalid::new(path, reason));
        }
        if kind == "mcp_call"
            && let Some(blocks) = self.server_call(&fields)
        {
            return Ok((Role::Assistant, blocks));
        }
        if state::ACTING_ITEMS.contains(&kind) {
            self.notes.refused("provider_would_act", path);
            return Ok((Role::Assistant, Vec::new()));
        }
        let block = Content::Opaque(OpaqueBlock {
            fallback: None,
            kind: kind.into(),
            json: Value::Object(fields),
            owner: self.owner.clone(),
        });
        Ok((Role::Assistant, vec![block.into()]))
    }

    fn with_state(&self, content: Content, kind: &str, json: Value) -> Block {
        let state: OpaqueState = state::block_state(self.owner, kind, json);
        Block {
            cache: None,
            content,
            opaque: vec![state],
        }
    }
}

fn words(text: String, annotations: Vec<Value>) -> Content {
    let annotations = annotations.into_iter().filter(Value::is_object);
    Content::Text(Text {
        annotations: annotations.map(state::annotation).collect(),
        text: text.into(),
    })
}
