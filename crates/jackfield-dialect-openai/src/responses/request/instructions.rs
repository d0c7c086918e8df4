//! Instructions that a setting requires in the conversation.

use jackfield_dialect_kit::notes::Notes;
use serde_json::Map;

use super::conversation::MappedConversation;
use crate::json_word;
use crate::profile::{Profile, SystemRole};
use crate::responses::wire;

/// Asks for JSON, unless the first message does so. Later messages are not considered, as they may change between
/// rounds, and the beginning would change with them.
///
/// The vendor looks for the word in the input only ("Response input messages must contain the word 'json'", 2026),
/// not in the instructions. If only one system prompt is accepted, the request goes there.
pub(super) fn ask_for_json(
    conversation: &mut MappedConversation,
    profile: &Profile,
    notes: &mut Notes,
) {
    let role = match profile.system_role {
        SystemRole::Developer => Some(wire::Role::Developer),
        SystemRole::OneSystem => None,
        SystemRole::System => Some(wire::Role::System),
    };
    let first = conversation.items.iter().position(|item| !leads(item));
    let considered = first.map_or(conversation.items.len(), |first| first + 1);
    let is_mentioned = conversation
        .items
        .iter()
        .take(considered)
        .any(mentions_json);
    let instructed = conversation
        .instructions
        .as_deref()
        .is_some_and(json_word::is_in);
    if is_mentioned || (role.is_none() && instructed) {
        return;
    }
    json_word::note(notes);
    match (role, &mut conversation.instructions) {
        (Some(role), _) => {
            let content = wire::Content::Text(json_word::INSTRUCTION.to_owned());
            let extra = Map::new();
            let ask = wire::Message {
                role,
                content,
                extra,
            };
            conversation.items.insert(0, wire::Item::Message(ask));
        }
        (None, Some(text)) => {
            text.push_str("\n\n");
            text.push_str(json_word::INSTRUCTION);
        }
        (None, none) => *none = Some(json_word::INSTRUCTION.to_owned()),
    }
}

/// Whether this is a system or developer message.
fn leads(item: &wire::Item) -> bool {
    message(item)
        .is_some_and(|message| matches!(message.role, wire::Role::Developer | wire::Role::System))
}

fn mentions_json(item: &wire::Item) -> bool {
    message(item).is_some_and(|message| match &message.content {
        wire::Content::Parts(parts) => parts.iter().any(|part| match part {
            wire::Part::InputText { text, .. } | wire::Part::OutputText { text, .. } => {
                json_word::is_in(text)
            }
            wire::Part::InputFile { .. }
            | wire::Part::InputImage { .. }
            | wire::Part::Other(_)
            | wire::Part::Refusal { .. } => false,
        }),
        wire::Content::Text(text) => json_word::is_in(text),
    })
}

const fn message(item: &wire::Item) -> Option<&wire::Message> {
    match item {
        wire::Item::Easy(message) | wire::Item::Message(message) => Some(message),
        wire::Item::CustomToolCall(_)
        | wire::Item::CustomToolCallOutput(_)
        | wire::Item::FunctionCall(_)
        | wire::Item::FunctionCallOutput(_)
        | wire::Item::Other(_)
        | wire::Item::Reasoning(_) => None,
    }
}
