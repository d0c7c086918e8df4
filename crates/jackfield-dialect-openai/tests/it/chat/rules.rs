//! The vendor's rules of messages, and those of the servers that have more of them.

use jackfield_dialect_openai::chat::wire::{Content, Message, Part, Request, Role};
use jackfield_dialect_openai::profile::{MessageOrder, Profile, SystemRole};
use proptest::prelude::*;

use super::arb;
use super::request_laws::made;

proptest! {
    #[test]
    fn every_word_is_sent_in_order(request in arb::request(), profile in arb::profile()) {
        let (body, _) = made(&request, &profile)?;
        let sent: String = body.messages.iter().map(text).collect();
        let mut rest = sent.as_str();
        let system = request.system.parts.iter().map(|part| part.text.to_string());
        let said = request.messages.iter().flat_map(|message| {
            let texts = message.blocks.iter().filter_map(|block| match &block.content {
                jackfield_domain::block::Content::Text(text) => Some(text.text.to_string()),
                _ => None,
            });
            texts.collect::<Vec<_>>()
        });
        for words in system.chain(said).filter(|words| !words.trim().is_empty()) {
            let place = rest.find(&words);
            prop_assert!(place.is_some(), "{words:?} is missing in {rest:?}");
            rest = &rest[place.unwrap_or(0) + words.len()..];
        }
    }
}

fn text(message: &Message) -> String {
    match &message.content {
        None => String::new(),
        Some(Content::Text(text)) => text.clone(),
        Some(Content::Parts(parts)) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text, .. } => text.as_str(),
                _ => "",
            })
            .collect(),
    }
}

/// The first rule that a body breaks.
pub(super) fn broken(body: &Request, profile: &Profile) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut before = None;
    for (n, message) in body.messages.iter().enumerate() {
        let at = |what: &str| Some(format!("messages.{n}: {what}"));
        let ids = message.tool_calls.iter().flatten();
        let ids: Vec<&str> = ids.map(|call| call.id.as_deref().unwrap_or("")).collect();
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().unwrap_or("");
            if open.first() != Some(&id) {
                return at("answers no call, or out of order");
            }
            open.remove(0);
        } else if !open.is_empty() {
            return at("stands between a call and its outcome");
        }
        if message.tool_calls.as_ref().is_some_and(Vec::is_empty) {
            return at("has an empty list of calls");
        }
        let silent = matches!(&message.content, Some(Content::Parts(parts)) if parts.is_empty());
        let needs = ids.is_empty() && message.audio.is_none();
        if silent || (message.content.is_none() && needs) {
            return at("says nothing");
        }
        for call in message.tool_calls.iter().flatten() {
            let arguments = call.function.as_ref().map(|function| &function.arguments);
            let object = arguments.is_none_or(|json| {
                let text = json.as_str().unwrap_or_default();
                serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
            });
            if !object {
                return at("has arguments that are no text of an object");
            }
        }
        open.extend(&ids);
        let system = matches!(message.role, Role::Developer | Role::System);
        if profile.system_role == SystemRole::OneSystem && system && n > 0 {
            return at("is a second system message");
        }
        let order = profile.message_order;
        let pair = (before, message.role);
        if order != MessageOrder::Free
            && matches!(
                pair,
                (Some((Role::User, _)), Role::User)
                    | (Some((Role::Assistant, false)), Role::Assistant)
            )
        {
            return at("follows one of its own role");
        }
        if order == MessageOrder::AnswerAfterTools
            && matches!(pair, (Some((Role::Tool, _)), Role::User))
        {
            return at("is the user's right after tools");
        }
        before = Some((message.role, !ids.is_empty()));
    }
    let offered = body.tools.as_ref().map(Vec::len);
    if offered == Some(0) {
        return Some("tools: an empty list".to_owned());
    }
    if offered.is_none() && (body.tool_choice.is_some() || body.parallel_tool_calls.is_some()) {
        return Some("a choice without tools".to_owned());
    }
    (!open.is_empty()).then(|| "a call has no outcome".to_owned())
}
