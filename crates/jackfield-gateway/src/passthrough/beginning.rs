//! How the conversation of a request begins that is passed through.

use jackfield_domain::digest::Digest;
use jackfield_domain::estimate;
use jackfield_domain::routing::Beginning;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::json as places;
use super::language::Language;
use super::request::RequestBody;

impl RequestBody<'_> {
    /// The beginning of its conversation: everything up to the client's first message. `None` if it has none.
    pub(super) fn beginning(&self, principal: &str, language: Language) -> Option<Beginning> {
        let messages = match language {
            Language::Chat | Language::Claude => "messages",
            Language::Gemini => "contents",
            Language::Responses => "input",
        };
        let messages = places::only(&self.members, messages)?.value;
        // The input of a response may be a text.
        let list = serde_json::from_str::<Vec<&RawValue>>(messages);
        let list = list.map_or_else(
            |_| vec![messages],
            |list| list.into_iter().map(RawValue::get).collect(),
        );
        let mut parts = vec!["beginning".to_owned(), principal.to_owned()];
        for message in list {
            let mut message: Value = serde_json::from_str(message).ok()?;
            let role = message.get("role").and_then(Value::as_str);
            let is_clients = role.is_none_or(|role| role == "user");
            normalize(&mut message);
            parts.push(Digest::of_json(&message).to_hex());
            if is_clients {
                break;
            }
        }
        (parts.len() > 2).then(|| Beginning {
            key: Digest::of_parts(parts.iter().map(String::as_str)),
            tokens: estimate::tokens(self.text.len()),
        })
    }
}

/// Removes the marks up to which Claude keeps a prompt. Clients move them with each request, and write a text as a
/// block for them.
fn normalize(message: &mut Value) {
    let Some(content) = message.get_mut("content") else {
        return;
    };
    if content.is_string() {
        *content = json!([{ "type": "text", "text": content }]);
    }
    for block in content.as_array_mut().into_iter().flatten() {
        if let Some(block) = block.as_object_mut() {
            block.remove("cache_control");
        }
    }
}
