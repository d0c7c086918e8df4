//! Maps a client's conversation.

use std::sync::Arc;

use jackfield_dialect_kit::client_ids::ClientIds;
use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::{
    Block, CalledName, Content, OpaqueBlock, RanBy, Text, Thinking, ToolCall,
};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::Value;

use super::Invalid;
use crate::media::{self, MediaKind};
use crate::reply::state;
use crate::request::outcomes::{ERROR, OUTPUT, is_wrapped};
use crate::wire;

/// Maps the conversation; results and a user's parts beside them become two messages.
pub(super) fn from_wire(
    contents: Vec<wire::Content>,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<Vec<Message>, Invalid> {
    let mut reader = Reader {
        ids: ClientIds::new(owner),
        notes,
        open: Vec::new(),
        owner,
    };
    let mut messages = Vec::with_capacity(contents.len());
    for (n, content) in contents.into_iter().enumerate() {
        let role = match content.role.as_deref() {
            None | Some("" | "function" | "tool" | "user") => Role::User,
            Some("model") => Role::Assistant,
            Some(_) => {
                let path = format!("contents.{n}.role");
                return Err(Invalid::new(path, "a role is `user` or `model`"));
            }
        };
        let (mut results, mut others) = (Vec::new(), Vec::new());
        for (k, part) in content.parts.into_iter().flatten().enumerate() {
            let path = format!("contents.{n}.parts.{k}");
            if part.function_response.is_some() && role == Role::Assistant {
                return Err(Invalid::new(path, "only a user's content has results"));
            }
            match part.function_response {
                Some(result) => results.push(reader.result(result, &path)?),
                None => others.extend(reader.part(part, role, &path)?),
            }
        }
        for (role, blocks) in [(Role::Tool, results), (role, others)] {
            if !blocks.is_empty() {
                messages.push(Message::new(role, blocks));
            }
        }
    }
    Ok(messages)
}

struct Reader<'a> {
    ids: ClientIds<'a>,
    notes: &'a mut Notes,
    /// The calls without a result so far: their names, the client's ids and ours.
    open: Vec<(String, String, ToolCallId)>,
    owner: &'a StateOwner,
}

impl Reader<'_> {
    /// Maps any part but a result; `None` if it is empty.
    fn part(&mut self, part: wire::Part, role: Role, path: &str) -> Result<Option<Block>, Invalid> {
        if let Some(kind) = state::unknown_kind(&part) {
            return self.unknown(&kind, &part, role, path).map(Some);
        }
        for key in part.extra.keys() {
            let path = format_args!("{path}.{key}");
            self.notes
                .dropped(NoteEffect::Quality, "part_field_not_read", path);
        }
        let is_model = role == Role::Assistant;
        let signature = part.thought_signature.as_deref().filter(|_| is_model);
        let signature = signature.filter(|text| !text.is_empty()).map(|text| {
            if text == state::NO_SIGNATURE {
                text.to_owned()
            } else {
                media::standard_base64(text)
            }
        });
        let is_thought = is_model && part.thought == Some(true);
        let content = match (part.function_call, part.text) {
            (Some(_), _) if !is_model => {
                return Err(Invalid::new(path, "only the model's content has calls"));
            }
            (Some(call), _) => self.call(call, path)?,
            (None, Some(text)) if is_thought => Content::Thinking(Thinking {
                redacted: false,
                text: text.into(),
            }),
            (None, Some(text)) => {
                if text.trim().is_empty() && signature.is_none() {
                    self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                    return Ok(None);
                }
                Content::Text(Text {
                    annotations: Vec::new(),
                    text: text.into(),
                })
            }
            (None, None) => {
                let media = wire::Part {
                    inline_data: part.inline_data,
                    file_data: part.file_data,
                    ..wire::Part::default()
                };
                match media::source(&media, self.owner) {
                    Some((kind, source)) => medium(kind, source),
                    // A signature alone, or nothing.
                    None if signature.is_some() => Content::Text(Text {
                        annotations: Vec::new(),
                        text: "".into(),
                    }),
                    None => return Err(Invalid::new(path, "a part holds data")),
                }
            }
        };
        let mut block = Block::from(content);
        let signature = signature.or_else(|| is_thought.then(String::new));
        block
            .opaque
            .extend(signature.map(|text| state::signed(self.owner, &text)));
        Ok(Some(block))
    }

    fn call(&mut self, call: wire::FunctionCall, path: &str) -> Result<Content, Invalid> {
        let fields = match call.args {
            None | Some(Value::Null) => serde_json::Map::new(),
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                let path = format!("{path}.functionCall.args");
                return Err(Invalid::new(path, "an object is needed"));
            }
        };
        let wire_id = call.id.unwrap_or_default();
        let (id, upstream) = self.ids.register_call(&wire_id);
        // A client without ids has none to get back.
        let upstream = upstream.filter(|_| !wire_id.is_empty());
        self.open.push((call.name.clone(), wire_id, id.clone()));
        Ok(Content::ToolCall(Arc::new(ToolCall {
            id,
            input: ToolInput::Json(JsonInput::from(fields)),
            name: CalledName::new(&call.name),
            ran_by: RanBy::Engine,
            upstream,
        })))
    }

    /// A result goes to the call with its id, or without one to the first open call of its function.
    fn result(&mut self, result: wire::FunctionResponse, path: &str) -> Result<Block, Invalid> {
        let wire_id = result.id.unwrap_or_default();
        let place = self.open.iter().position(|(name, id, _)| {
            if wire_id.is_empty() {
                *name == result.name
            } else {
                *id == wire_id
            }
        });
        let call = match place {
            Some(place) => self.open.remove(place).2,
            None => self.ids.resolve_result(&wire_id),
        };
        let mut read = value(result.response, path)?;
        for (k, part) in result.parts.into_iter().flatten().enumerate() {
            let path = format!("{path}.functionResponse.parts.{k}");
            let Some((kind, source)) = media::source(&part, self.owner) else {
                return Err(Invalid::new(path, "only media can be here"));
            };
            read.content.push(match medium(kind, source) {
                Content::Audio(audio) => OutcomePart::Audio(audio),
                Content::Document(document) => OutcomePart::Document(document),
                Content::Image(image) => OutcomePart::Image(image),
                Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_)
                | Content::ToolCall(_)
                | Content::ToolOutcome(_) => continue,
            });
        }
        let outcome = ToolOutcome {
            call,
            result: read,
            opaque: Vec::new(),
        };
        Ok(Content::ToolOutcome(Arc::new(outcome)).into())
    }

    /// A part that only its owner understands; in a user's content other providers get its text.
    fn unknown(
        &self,
        kind: &str,
        part: &wire::Part,
        role: Role,
        path: &str,
    ) -> Result<Block, Invalid> {
        let json = serde_json::to_value(part).unwrap_or_default();
        let is_said = role == Role::User;
        let fields = json.as_object().filter(|_| is_said);
        let fallback = fields.and_then(media_text::opaque_block);
        if is_said && fallback.is_none() && self.owner.endpoint.is_empty() {
            let reason = format!("a part with {kind} cannot be told to this model");
            return Err(Invalid::new(path, reason));
        }
        Ok(Content::Opaque(OpaqueBlock {
            fallback: fallback.map(Into::into),
            json,
            kind: kind.into(),
            owner: self.owner.clone(),
        })
        .into())
    }
}

/// The value of a response: under `output` or `error`, or all of it.
fn value(response: Option<Value>, path: &str) -> Result<ToolResult, Invalid> {
    let mut result = ToolResult::default();
    let fields = match response {
        None | Some(Value::Null) => return Ok(result),
        Some(Value::Object(fields)) => fields,
        Some(_) => {
            let path = format!("{path}.functionResponse.response");
            return Err(Invalid::new(path, "an object is needed"));
        }
    };
    let value = if is_wrapped(&fields) {
        result.is_error = fields.contains_key(ERROR);
        let value = fields.get(ERROR).or_else(|| fields.get(OUTPUT));
        value.cloned().unwrap_or_default()
    } else {
        Value::Object(fields)
    };
    let text = |text: String| {
        let is_blank = text.trim().is_empty();
        (!is_blank).then(|| OutcomePart::Text(text.into()))
    };
    match value {
        Value::Null => {}
        Value::String(one) => result.content.extend(text(one)),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let texts = items.into_iter().filter_map(|item| match item {
                Value::String(one) => text(one),
                Value::Array(_)
                | Value::Bool(_)
                | Value::Null
                | Value::Number(_)
                | Value::Object(_) => None,
            });
            result.content.extend(texts);
        }
        value @ (Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            // A model reads text, and a conversation is known again by its texts.
            let text = value.to_string().into();
            result.content.push(OutcomePart::Text(text));
            result.structured = Some(Arc::new(value));
        }
    }
    Ok(result)
}

pub(crate) fn medium(kind: MediaKind, source: MediaSource) -> Content {
    match kind {
        MediaKind::Audio => Content::Audio(Audio {
            source,
            transcript: None,
        }),
        MediaKind::Document => Content::Document(Document {
            cite: false,
            context: None,
            source,
            title: None,
        }),
        MediaKind::Image => Content::Image(Image {
            detail: None,
            source,
        }),
    }
}
