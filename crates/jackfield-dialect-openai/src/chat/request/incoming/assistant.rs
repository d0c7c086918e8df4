//! Maps the assistant messages that a client sends back.

use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, OpaqueBlock, RanBy, Thinking, ToolCall};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateScope;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use super::Invalid;
use super::messages::{RequestReader, legacy_id};
use crate::chat::reply::state;
use crate::chat::wire;

impl RequestReader<'_> {
    /// An assistant message; `None` if it is empty.
    pub(super) fn assistant_blocks(
        &mut self,
        message: wire::Message,
        path: &str,
    ) -> Result<Option<Message>, Invalid> {
        let mut blocks = Vec::new();
        let mut opaque = Vec::new();
        let fields = [
            ("reasoning_content", message.reasoning_content),
            ("reasoning", message.reasoning),
            ("thinking", message.thinking),
        ];
        for (field, text) in fields {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                blocks.push(self.thinking(field, &text));
            }
        }
        if let Some(details) = message.reasoning_details.filter(|parts| !parts.is_empty()) {
            let words = state::details_text(&details);
            if blocks.is_empty() && !words.is_empty() {
                blocks.push(self.thinking(state::REASONING_DETAILS, &words));
            }
            let json = Value::Array(details);
            let kind = state::REASONING_DETAILS;
            opaque.push(state::new_state(self.owner, kind, json, StateScope::Reply));
        }
        blocks.extend(self.content(message.content, path)?);
        if let Some(refusal) = message.refusal.filter(|text| !text.trim().is_empty()) {
            blocks.push(Content::Refusal(refusal.into()).into());
        }
        if let Some(audio) = message.audio {
            let audio = OpaqueBlock {
                fallback: None,
                json: json!({ "id": audio.id }),
                kind: state::AUDIO.into(),
                owner: self.owner.clone(),
            };
            blocks.push(Content::Opaque(audio).into());
        }
        self.open_calls.clear();
        let calls = message.tool_calls.unwrap_or_default();
        for (k, call) in calls.into_iter().enumerate() {
            blocks.push(self.call(call, &format!("{path}.tool_calls.{k}"))?);
        }
        if let Some(function) = message.function_call {
            let id = legacy_id(function.name.as_deref().unwrap_or_default());
            let call = wire::ToolCall {
                id: Some(id),
                function: Some(function),
                ..wire::ToolCall::default()
            };
            blocks.push(self.call(call, &format!("{path}.function_call"))?);
        }
        if blocks.is_empty() {
            self.notes
                .dropped(NoteEffect::Cosmetic, "empty_message", path);
            return Ok(None);
        }
        Ok(Some(Message {
            blocks,
            opaque,
            role: Role::Assistant,
        }))
    }

    fn thinking(&self, field: &str, text: &str) -> Block {
        let content = Content::Thinking(Thinking {
            redacted: false,
            text: text.into(),
        });
        let kind = state::REASONING_FIELD;
        Block {
            opaque: vec![state::new_state(
                self.owner,
                kind,
                json!(field),
                StateScope::Block,
            )],
            ..Block::from(content)
        }
    }

    fn call(&mut self, call: wire::ToolCall, path: &str) -> Result<Block, Invalid> {
        let (name, input) = match (call.custom, call.function) {
            (Some(custom), _) => (custom.name, ToolInput::Text(custom.input.into())),
            (None, Some(function)) => (function.name, arguments(&function.arguments)),
            (None, None) => {
                return Err(Invalid::new(path, "a call says what is called"));
            }
        };
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err(Invalid::new(path, "a call names its tool"));
        };
        let client_id = call.id.unwrap_or_default();
        let (id, upstream) = self.ids.register_call(&client_id);
        self.open_calls.add(client_id, id.clone());
        let extra = call.extra_content.filter(|json| !json.is_null());
        let content = Content::ToolCall(Arc::new(ToolCall {
            id,
            input,
            name: CalledName::new(&name),
            ran_by: RanBy::Engine,
            upstream,
        }));
        let state = extra.map(|json| {
            state::new_state(self.owner, state::EXTRA_CONTENT, json, StateScope::Block)
        });
        Ok(Block {
            opaque: state.into_iter().collect(),
            ..Block::from(content)
        })
    }
}

/// The arguments: a string as the vendor has it, or the object itself, as some clients send.
fn arguments(json: &Value) -> ToolInput {
    ToolInput::Json(match json {
        Value::Null => JsonInput::parse(""),
        Value::String(text) => JsonInput::parse(text),
        Value::Object(fields) => JsonInput::from(fields.clone()),
        other @ (Value::Array(_) | Value::Bool(_) | Value::Number(_)) => {
            JsonInput::parse(&other.to_string())
        }
    })
}
