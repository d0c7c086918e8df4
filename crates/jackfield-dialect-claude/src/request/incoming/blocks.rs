//! Maps wire blocks of a client's conversation to domain blocks.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_dialect_kit::client_ids::ClientIds;
use jackfield_dialect_kit::data_url;
use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{
    Block, CachePoint, CalledName, Content, OpaqueBlock, RanBy, Text, Thinking, ToolCall,
};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::media::{Document, Image, MediaSource};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Map, Value, json};

use super::{Invalid, server_calls};
use crate::reply::{annotation, state};
use crate::request::conversation::cache_control;
use crate::wire;

/// The context for mapping blocks.
#[derive(Debug)]
pub(super) struct RequestReader<'a> {
    pub(super) ids: ClientIds<'a>,
    pub(super) notes: &'a mut Notes,
    pub(super) owner: &'a StateOwner,
    /// The tools of server tool calls, which are copied to their outcomes.
    pub(super) server_tools: HashMap<ToolCallId, OpaqueState>,
    /// The toolset of each call, which is repeated in its result.
    pub(super) toolsets: HashMap<ToolCallId, String>,
}

impl RequestReader<'_> {
    /// Maps any block but a result; `None` if it is empty.
    pub(super) fn block(
        &mut self,
        block: wire::Block,
        role: wire::Role,
        path: &str,
    ) -> Result<Option<Block>, Invalid> {
        Ok(Some(match block {
            // A document of blocks is opaque; other providers get its text.
            block @ wire::Block::Document {
                source: wire::Source::Other(_),
                ..
            } => match serde_json::to_value(block) {
                Ok(Value::Object(fields)) => self.unknown("document", fields, role, path)?,
                Ok(_) | Err(_) => return Err(malformed("document", path)),
            },
            wire::Block::Document {
                source,
                title,
                context,
                citations,
                cache_control,
            } => {
                let document = self.document(source, title, context, citations, path)?;
                cached(Content::Document(document), cache_control.as_ref())
            }
            wire::Block::Image {
                source,
                cache_control,
            } => {
                let image = Content::Image(self.image(source, path)?);
                cached(image, cache_control.as_ref())
            }
            wire::Block::RedactedThinking { data } => {
                let content = thinking(true, "");
                self.with_states(content, vec![(state::REDACTED, json!(data))])
            }
            wire::Block::Text {
                text,
                citations,
                cache_control,
            } => {
                if text.trim().is_empty() {
                    self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                    return Ok(None);
                }
                let citations = citations.unwrap_or_default();
                let text = Content::Text(Text {
                    annotations: citations.into_iter().map(annotation).collect(),
                    text: text.into(),
                });
                cached(text, cache_control.as_ref())
            }
            wire::Block::Thinking {
                thinking: text,
                signature,
            } => {
                let states = if signature.is_empty() {
                    Vec::new()
                } else {
                    vec![(state::SIGNATURE, json!(signature))]
                };
                self.with_states(thinking(false, &text), states)
            }
            wire::Block::ToolResult(_) => {
                return Err(Invalid::new(path, "a result cannot be here"));
            }
            wire::Block::ToolUse(call) => {
                if role != wire::Role::Assistant {
                    return Err(Invalid::new(path, "only an assistant message has calls"));
                }
                self.call(call, path)?
            }
            wire::Block::Other(fields) => self.other(fields, role, path)?,
        }))
    }

    pub(super) fn result(
        &mut self,
        result: wire::ToolResult,
        path: &str,
    ) -> Result<Block, Invalid> {
        let call = self.ids.resolve_result(&result.tool_use_id);
        let mut content = Vec::new();
        let mut cache = result.cache_control;
        match result.content {
            None => {}
            Some(wire::Content::Text(text)) if text.trim().is_empty() => {}
            Some(wire::Content::Text(text)) => content.push(OutcomePart::Text(text.into())),
            Some(wire::Content::Blocks(blocks)) => {
                for (n, mut block) in blocks.into_iter().enumerate() {
                    // A cache point within a result is equivalent to one after it, at the granularity of calls.
                    if cache.is_none() {
                        cache = cache_control(&mut block).and_then(Option::take);
                    }
                    content.extend(self.part(block, &format!("{path}.content.{n}"))?);
                }
            }
        }
        // Usually equal to the call's own.
        let toolset = result
            .toolset_name
            .filter(|name| self.toolsets.get(&call) != Some(name));
        let opaque = toolset.map(|name| self.state(state::TOOLSET, json!(name)));
        let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
            call,
            result: ToolResult {
                content,
                is_error: result.is_error.unwrap_or(false),
                structured: None,
            },
            opaque: opaque.into_iter().collect(),
        }));
        Ok(cached(outcome, cache.as_ref()))
    }

    fn part(&mut self, block: wire::Block, path: &str) -> Result<Option<OutcomePart>, Invalid> {
        self.note_lost(&block, path);
        Ok(match block {
            wire::Block::Document {
                source,
                title,
                context,
                citations,
                ..
            } => {
                let document = self.document(source, title, context, citations, path)?;
                Some(OutcomePart::Document(document))
            }
            wire::Block::Image { source, .. } => {
                Some(OutcomePart::Image(self.image(source, path)?))
            }
            wire::Block::Text { text, .. } => {
                (!text.trim().is_empty()).then(|| OutcomePart::Text(text.into()))
            }
            wire::Block::Other(fields) => {
                let kind = fields.get("type").and_then(Value::as_str);
                if let Some(kind) = kind.filter(|kind| state::KNOWN_BLOCKS.contains(kind)) {
                    return Err(malformed(kind, path));
                }
                self.notes
                    .approximated(NoteEffect::Quality, "part_as_json_text", path);
                Some(OutcomePart::Text(Value::Object(fields).to_string().into()))
            }
            wire::Block::RedactedThinking { .. }
            | wire::Block::Thinking { .. }
            | wire::Block::ToolResult(_)
            | wire::Block::ToolUse(_) => {
                return Err(Invalid::new(path, "a result cannot hold this block"));
            }
        })
    }

    /// Notes the fields of a result's part that domain parts lack.
    fn note_lost(&mut self, block: &wire::Block, path: &str) {
        if let wire::Block::Document { cache_control, .. }
        | wire::Block::Image { cache_control, .. }
        | wire::Block::Text { cache_control, .. } = block
            && cache_control.is_some()
        {
            let path = format_args!("{path}.cache_control");
            self.notes
                .dropped(NoteEffect::Cost, "cache_point_not_possible", path);
        }
        if let wire::Block::Text {
            text, citations, ..
        } = block
        {
            if text.trim().is_empty() {
                self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
            }
            if citations.as_ref().is_some_and(|known| !known.is_empty()) {
                let path = format_args!("{path}.citations");
                self.notes
                    .dropped(NoteEffect::Quality, "annotation_not_sent", path);
            }
        }
    }

    fn call(&mut self, call: wire::ToolUse, path: &str) -> Result<Block, Invalid> {
        let Value::Object(fields) = call.input else {
            return Err(Invalid::new(format!("{path}.input"), "an object is needed"));
        };
        let (id, upstream) = self.ids.register_call(&call.id);
        let mut states = Vec::new();
        if let Some(caller) = call.caller {
            states.push((state::CALLER, caller));
        }
        if let Some(toolset) = call.toolset_name {
            states.push((state::TOOLSET, json!(toolset)));
            self.toolsets.insert(id.clone(), toolset);
        }
        let content = Content::ToolCall(Arc::new(ToolCall {
            id,
            input: ToolInput::Json(JsonInput::from(fields)),
            name: CalledName::new(&call.name),
            ran_by: RanBy::Engine,
            upstream,
        }));
        let mut block = self.with_states(content, states);
        block.cache = call.cache_control.as_ref().map(cache_point);
        Ok(block)
    }

    /// An opaque block; in a user message other providers get its text.
    fn unknown(
        &self,
        kind: &str,
        fields: Map<String, Value>,
        role: wire::Role,
        path: &str,
    ) -> Result<Block, Invalid> {
        let is_said = role == wire::Role::User;
        let fallback = media_text::opaque_block(&fields).filter(|_| is_said);
        if is_said && fallback.is_none() && self.owner.endpoint.is_empty() {
            let reason = format!("a {kind} block cannot be told to this model");
            return Err(Invalid::new(path, reason));
        }
        Ok(Content::Opaque(OpaqueBlock {
            fallback: fallback.map(Into::into),
            json: Value::Object(fields),
            kind: kind.into(),
            owner: self.owner.clone(),
        })
        .into())
    }

    /// A provider-run call, or an opaque block.
    fn other(
        &mut self,
        mut fields: Map<String, Value>,
        role: wire::Role,
        path: &str,
    ) -> Result<Block, Invalid> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(kind) = text("type") else {
            return Err(Invalid::new(format!("{path}.type"), "a block has a type"));
        };
        if server_calls::is_ours(&kind, &fields) {
            return self.server_block(&kind, fields, role, path);
        }
        if !state::KNOWN_BLOCKS.contains(&kind.as_str()) {
            return self.unknown(&kind, fields, role, path);
        }
        if !state::PROVIDER_CALLS.contains(&kind.as_str()) {
            return Err(malformed(&kind, path));
        }
        let (Some(id), Some(name)) = (text("id"), text("name")) else {
            return Err(malformed(&kind, path));
        };
        let input = match fields.shift_remove("input") {
            Some(Value::Object(input)) => input,
            Some(_) => return Err(malformed(&kind, path)),
            None => Map::new(),
        };
        let (id, upstream) = self.ids.register_call(&id);
        let content = Content::ToolCall(Arc::new(ToolCall {
            id,
            input: ToolInput::Json(JsonInput::from(input)),
            name: CalledName::new(&name),
            ran_by: RanBy::Provider,
            upstream,
        }));
        Ok(self.with_states(content, vec![(state::PROVIDER_CALL, Value::Object(fields))]))
    }

    fn image(&self, source: wire::Source, path: &str) -> Result<Image, Invalid> {
        Ok(Image {
            detail: None,
            source: self.source(source, path)?,
        })
    }

    fn document(
        &self,
        source: wire::Source,
        title: Option<String>,
        context: Option<String>,
        citations: Option<wire::Citations>,
        path: &str,
    ) -> Result<Document, Invalid> {
        Ok(Document {
            cite: citations.is_some_and(|citations| citations.enabled),
            context: context.map(Into::into),
            source: self.source(source, path)?,
            title: title.map(Into::into),
        })
    }

    fn source(&self, source: wire::Source, path: &str) -> Result<MediaSource, Invalid> {
        Ok(match source {
            wire::Source::Base64 { media_type, data } => MediaSource::Base64 {
                media_type: data_url::media_type(&media_type).into(),
                data: data.into(),
            },
            wire::Source::File { file_id } => MediaSource::File {
                id: file_id.into(),
                owner: self.owner.clone(),
            },
            wire::Source::Text { data, .. } => MediaSource::Text(data.into()),
            wire::Source::Url { url } => MediaSource::Url(url.into()),
            wire::Source::Other(_) => {
                let reason = "this source is not supported";
                return Err(Invalid::new(format!("{path}.source"), reason));
            }
        })
    }

    fn with_states(&self, content: Content, states: Vec<(&str, Value)>) -> Block {
        let states = states.into_iter();
        Block {
            cache: None,
            content,
            opaque: states.map(|(kind, json)| self.state(kind, json)).collect(),
        }
    }

    fn state(&self, kind: &str, json: Value) -> OpaqueState {
        OpaqueState {
            kind: kind.into(),
            json,
            owner: self.owner.clone(),
            scope: StateScope::Block,
        }
    }
}

fn thinking(redacted: bool, text: &str) -> Content {
    Content::Thinking(Thinking {
        redacted,
        text: text.into(),
    })
}

fn cached(content: Content, cache: Option<&wire::CacheControl>) -> Block {
    let mut block = Block::from(content);
    block.cache = cache.map(cache_point);
    block
}

/// Five minutes, an hour, or the provider's default.
fn cache_point(cache: &wire::CacheControl) -> CachePoint {
    CachePoint {
        seconds: cache
            .ttl
            .as_deref()
            .map(|ttl| if ttl == "1h" { 3600 } else { 300 }),
    }
}

fn malformed(kind: &str, path: &str) -> Invalid {
    Invalid::new(path, format!("this is no well-formed {kind} block"))
}
