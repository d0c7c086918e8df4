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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(body: &str, principal: &str, language: Language) -> Option<Digest> {
        let body = RequestBody::read(body.as_bytes()).unwrap();
        Some(body.beginning(principal, language)?.key)
    }

    #[test]
    fn requests_of_a_conversation_have_one_beginning() {
        let body = |more: &str, mark: &str| {
            format!(
                r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"text","text":"hi"{mark}}}]}}{more}]}}"#
            )
        };
        let mark = r#","cache_control":{"type":"ephemeral"}"#;
        let more = r#",{"role":"assistant","content":"Hello"},{"role":"user","content":"Go on"}"#;
        let first = key(&body("", mark), "p", Language::Claude);
        assert!(first.is_some());
        assert_eq!(first, key(&body(more, ""), "p", Language::Claude));
        let text = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
        assert_eq!(first, key(text, "p", Language::Claude));
        assert_ne!(first, key(&body("", mark), "q", Language::Claude));
        assert_ne!(
            first,
            key(&body("", mark).replace("hi", "ho"), "p", Language::Claude)
        );
    }

    #[test]
    fn each_language_has_its_own_place_for_messages() {
        let chat = r#"{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"hi"},{"role":"user","content":"2"}]}"#;
        let of = |body: &str| key(body, "p", Language::Chat);
        assert_eq!(of(chat), of(&chat.replace("\"2\"", "\"3\"")));
        assert_ne!(of(chat), of(&chat.replace("\"S\"", "\"T\"")));
        let text = r#"{"model":"m","input":"hi"}"#;
        assert!(key(text, "p", Language::Responses).is_some());
        let gemini = r#"{"model":"m","contents":[{"parts":[{"text":"hi"}]}]}"#;
        assert!(key(gemini, "p", Language::Gemini).is_some());
        assert_eq!(key(gemini, "p", Language::Claude), None);
        assert_eq!(
            key(r#"{"model":"m","messages":[]}"#, "p", Language::Chat),
            None
        );
    }
}
