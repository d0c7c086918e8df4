//! Maps a client's conversation.

use jackfield_dialect_kit::client_ids::ClientIds;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::Block;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::{Map, Value};

use super::Invalid;
use super::blocks::RequestReader;
use crate::reply::state::MESSAGE_SETTINGS;
use crate::request::conversation::plain;
use crate::wire;

/// Maps the conversation; results and the user's following text become two messages.
pub(super) fn from_wire(
    messages: Vec<wire::InputMessage>,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<Vec<Message>, Invalid> {
    let mut inward = RequestReader {
        ids: ClientIds::new(owner),
        notes,
        owner,
        server_tools: std::collections::HashMap::new(),
        toolsets: std::collections::HashMap::new(),
    };
    let mut out = Vec::with_capacity(messages.len());
    for (n, message) in messages.into_iter().enumerate() {
        let settings = settings(&message, owner);
        let blocks = match message.content {
            Some(wire::Content::Blocks(blocks)) => blocks,
            Some(wire::Content::Text(text)) => vec![plain(&text)],
            None if settings.is_some() => Vec::new(),
            None => {
                let path = format!("messages.{n}.content");
                return Err(Invalid::new(path, "missing field `content`"));
            }
        };
        let mut results = Vec::new();
        let mut others = Vec::new();
        for (b, block) in blocks.into_iter().enumerate() {
            let path = format!("messages.{n}.content.{b}");
            if let wire::Block::ToolResult(result) = block {
                if message.role != wire::Role::User {
                    return Err(Invalid::new(path, "only a user message has results"));
                }
                results.push(inward.result(result, &path)?);
            } else {
                others.extend(inward.block(block, message.role, &path)?);
            }
        }
        let role = match message.role {
            wire::Role::Assistant => Role::Assistant,
            wire::Role::System => Role::System,
            wire::Role::User => Role::User,
        };
        push(&mut out, Role::Tool, results);
        if settings.is_some() || !others.is_empty() {
            out.push(Message {
                blocks: others,
                opaque: settings.into_iter().collect(),
                role,
            });
        }
    }
    Ok(out)
}

/// The settings of a system message, which only their owner gets.
fn settings(message: &wire::InputMessage, owner: &StateOwner) -> Option<OpaqueState> {
    let mut fields = Map::new();
    let said = [
        ("clear_at", &message.clear_at),
        ("output_config", &message.output_config),
    ];
    for (name, value) in said {
        if let Some(value) = value.as_ref().filter(|value| !value.is_null()) {
            fields.insert(name.to_owned(), value.clone());
        }
    }
    let is_set = message.role == wire::Role::System && !fields.is_empty();
    is_set.then(|| OpaqueState {
        kind: MESSAGE_SETTINGS.into(),
        json: Value::Object(fields),
        owner: owner.clone(),
        scope: StateScope::Block,
    })
}

fn push(messages: &mut Vec<Message>, role: Role, blocks: Vec<Block>) {
    if !blocks.is_empty() {
        messages.push(Message::new(role, blocks));
    }
}
