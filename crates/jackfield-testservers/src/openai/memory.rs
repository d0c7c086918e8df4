//! The server's memory: reasoning must come back unchanged, with its related items.

use std::collections::HashMap;

use serde_json::Value;

use super::rules::{has, items, text};
use crate::checks::CheckFindings;

/// The replies of a server so far.
#[derive(Default)]
pub(super) struct ResponseMemory {
    responses: Vec<StoredResponse>,
    /// The reasoning that came with each call, by the call's id.
    thoughts: HashMap<String, String>,
}

/// A response that was sent.
struct StoredResponse {
    id: String,
    items: Vec<Value>,
    model: String,
    stored: bool,
}

impl ResponseMemory {
    pub(super) fn keep(&mut self, id: String, body: &Value, items: Vec<Value>) {
        self.responses.push(StoredResponse {
            id,
            items,
            model: text(body, "model").to_owned(),
            stored: body.get("store") != Some(&Value::Bool(false)),
        });
    }

    /// Stores the reasoning that was sent with some calls.
    pub(super) fn keep_thought(&mut self, calls: Vec<String>, thought: &str) {
        let calls = calls.into_iter().map(|call| (call, thought.to_owned()));
        self.thoughts.extend(calls);
    }

    /// Checks that reasoning that comes back is unchanged.
    pub(super) fn check_chat(&self, body: &Value, found: &mut CheckFindings) {
        for (n, message) in items(body.get("messages")).iter().enumerate() {
            let Some(echo) = message.get("reasoning_content").and_then(Value::as_str) else {
                continue;
            };
            let mut calls = items(message.get("tool_calls")).iter();
            let said = calls.find_map(|call| self.thoughts.get(text(call, "id")));
            if said.is_some_and(|said| said != echo) {
                let at = format!("messages[{n}].reasoning_content");
                found.add(&at, "this is not the reasoning that these calls came with");
            }
        }
    }

    /// Checks that items come back unchanged, and reasoning with the item that follows it.
    pub(super) fn check_responses(&self, body: &Value, found: &mut CheckFindings) {
        let before = text(body, "previous_response_id");
        let is_known = |said: &StoredResponse| said.id == before && said.stored;
        if !before.is_empty() && !self.responses.iter().any(is_known) {
            let fault = format!("Previous response with id '{before}' not found.");
            let code = "previous_response_not_found";
            found.coded("previous_response_id", code, &fault);
        }
        let input = items(body.get("input"));
        for (n, item) in input.iter().enumerate() {
            let at = format!("input[{n}]");
            let Some((said, place)) = self.find(item) else {
                if text(item, "type") == "reasoning" {
                    unknown(&at, item, found);
                }
                continue;
            };
            let previous = n.checked_sub(1).and_then(|n| input.get(n));
            let look = RememberedItem {
                at: &at,
                following: input.get(n + 1),
                item,
                model: text(body, "model"),
                place,
                previous,
                said,
            };
            match text(item, "type") {
                "reasoning" => look.reasoning(found),
                "function_call" | "custom_tool_call" | "tool_search_call" => {
                    look.needs_reasoning(found);
                }
                _ => look.message(found),
            }
        }
    }

    /// The response that contained an item, and the item's index in it.
    fn find(&self, item: &Value) -> Option<(&StoredResponse, usize)> {
        self.responses.iter().rev().find_map(|said| {
            let place = said.items.iter().position(|known| is_same(known, item))?;
            Some((said, place))
        })
    }
}

/// An item of the input that the server has sent.
struct RememberedItem<'a> {
    at: &'a str,
    following: Option<&'a Value>,
    item: &'a Value,
    model: &'a str,
    place: usize,
    previous: Option<&'a Value>,
    said: &'a StoredResponse,
}

impl RememberedItem<'_> {
    fn reasoning(&self, found: &mut CheckFindings) {
        let (at, id) = (self.at, text(self.item, "id"));
        let known = self.said.items.get(self.place);
        let field = |name: &str| known.and_then(|known| known.get(name));
        if has(self.item, "encrypted_content") {
            if self.item.get("encrypted_content") != field("encrypted_content") {
                not_verified(at, id, found);
            }
        } else if !self.said.stored {
            let fault = format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
            );
            found.add(at, &fault);
        }
        // Stricter than the vendor, who ignores the summary, and drops another model's reasoning.
        if self.item.get("summary") != field("summary") {
            let fault = format!("the summary of '{id}' is not the one that was given out");
            found.add(at, &fault);
        }
        if self.model != self.said.model {
            let fault = format!("'{id}' is the reasoning of {}", self.said.model);
            found.coded(at, "model_mismatch", &fault);
        }
        let wanted = self.said.items.get(self.place + 1);
        let follows = match (wanted, self.following) {
            (Some(wanted), Some(following)) => {
                is_same(wanted, following) || is_its_text(wanted, following)
            }
            (_, _) => false,
        };
        if !follows {
            let fault = format!(
                "Item '{id}' of type 'reasoning' was provided without its required following item."
            );
            found.add(at, &fault);
        }
    }

    /// An item that directly followed reasoning must not come back without it, to the same model.
    fn needs_reasoning(&self, found: &mut CheckFindings) {
        let mut items = self.said.items.iter();
        let before = self.place.checked_sub(1).and_then(|place| items.nth(place));
        let Some(reasoning) = before.filter(|before| text(before, "type") == "reasoning") else {
            return;
        };
        let is_there = self.previous.is_some_and(|item| is_same(reasoning, item));
        if !is_there && self.model == self.said.model {
            let fault = format!(
                "Item '{}' of type '{}' was provided without its required 'reasoning' item: '{}'.",
                self.own_id(),
                text(self.item, "type"),
                text(reasoning, "id"),
            );
            found.add(self.at, &fault);
        }
    }

    fn message(&self, found: &mut CheckFindings) {
        self.needs_reasoning(found);
        let known = self.said.items.get(self.place);
        let phase = |item: Option<&Value>| item.and_then(|item| item.get("phase")).cloned();
        if phase(Some(self.item)) != phase(known) {
            let fault = "the phase of the message is not the one that was given out";
            found.add(&format!("{}.phase", self.at), fault);
        }
        if !known.is_some_and(|known| is_its_text(known, self.item)) {
            let fault = "the message is not the one that was given out under its id";
            found.add(self.at, fault);
        }
    }

    fn own_id(&self) -> &str {
        self.said
            .items
            .get(self.place)
            .map_or("", |known| text(known, "id"))
    }
}

fn unknown(at: &str, item: &Value, found: &mut CheckFindings) {
    let id = text(item, "id");
    if has(item, "encrypted_content") {
        not_verified(at, id, found);
    } else {
        found.add(at, &format!("Item with id '{id}' not found."));
    }
}

fn not_verified(at: &str, id: &str, found: &mut CheckFindings) {
    let fault = format!(
        "The encrypted content for item {id} could not be verified. Reason: Encrypted content could not be decrypted or parsed."
    );
    found.coded(at, "invalid_encrypted_content", &fault);
}

/// Whether two items are the same: by the call's id, or by their own.
fn is_same(known: &Value, item: &Value) -> bool {
    let kind = text(known, "type");
    let name = match kind {
        "function_call" | "custom_tool_call" | "tool_search_call" => "call_id",
        _ => "id",
    };
    let own = text(item, name);
    kind == text(item, "type") && !own.is_empty() && own == text(known, name)
}

/// Whether a message has the text of the known one.
fn is_its_text(known: &Value, message: &Value) -> bool {
    let words = |message: &Value| match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        content => items(content)
            .iter()
            .map(|part| format!("{}{}", text(part, "text"), text(part, "refusal")))
            .collect(),
    };
    text(known, "role") == "assistant"
        && text(message, "role") == "assistant"
        && words(known) == words(message)
}
