//! The conversation of a client.

use jackfield_dialect_kit::client_ids::ClientIds;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::block::Block;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::StateOwner;

use super::Invalid;
use super::blocks::Inward;
use crate::wire;

/// Maps the conversation; results and what the user says after them become two messages.
pub(super) fn from_wire(
    messages: Vec<wire::InputMessage>,
    owner: &StateOwner,
    notes: &mut Notes,
) -> Result<Vec<Message>, Invalid> {
    let mut inward = Inward {
        ids: ClientIds::new(owner),
        notes,
        owner,
        shown: std::collections::HashMap::new(),
        toolsets: std::collections::HashMap::new(),
    };
    let mut out = Vec::with_capacity(messages.len());
    for (n, message) in messages.into_iter().enumerate() {
        let blocks = match message.content {
            wire::Content::Blocks(blocks) => blocks,
            wire::Content::Text(text) => vec![wire::Block::Text {
                text,
                citations: None,
                cache_control: None,
            }],
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
        push(&mut out, role, others);
    }
    Ok(out)
}

fn push(messages: &mut Vec<Message>, role: Role, blocks: Vec<Block>) {
    if !blocks.is_empty() {
        messages.push(Message::new(role, blocks));
    }
}
