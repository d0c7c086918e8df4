//! Rules for the conversation of a body.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said, text_of};

impl Found<'_> {
    pub(super) fn messages(&mut self, body: &Map<String, Value>, root: &Place) {
        let place = root.at("messages");
        let Some(messages) =
            said(body, "messages").and_then(|messages| self.array(messages, &place))
        else {
            return;
        };
        self.check(!messages.is_empty(), &place, Rule::Empty);
        // The names of the calls without a result, by their ids.
        let mut open: HashMap<&str, &str> = HashMap::new();
        let mut ids = HashSet::new();
        for (n, message) in messages.iter().enumerate() {
            let place = place.at(n);
            let Some(fields) = self.object(message, &place) else {
                continue;
            };
            self.known_fields(fields, &place, FIELDS);
            self.required(fields, &place, &["role"]);
            self.required(fields, &place, &["content"]);
            if let Some(content) = said(fields, "content") {
                self.text(content, &place.at("content"));
            }
            self.images(fields, &place);
            let role = text_of(message, "role");
            if let Some(role) = said(fields, "role") {
                let roles = ["assistant", "system", "tool", "user"];
                self.one_of(role, &place.at("role"), &roles);
            }
            for field in ["thinking", "tool_calls"] {
                let is_misplaced = role != "assistant" && said(fields, field).is_some();
                self.check(!is_misplaced, &place.at(field), Rule::UnknownField);
            }
            if role == "tool" {
                let id = text_of(message, "tool_call_id");
                let is_open = open.remove(id) == Some(text_of(message, "tool_name"));
                self.check(is_open, &place, Rule::Results);
                continue;
            }
            self.check(open.is_empty(), &place, Rule::Results);
            let place = place.at("tool_calls");
            let calls = said(fields, "tool_calls").and_then(|calls| self.array(calls, &place));
            for (k, call) in calls.into_iter().flatten().enumerate() {
                let place = place.at(k);
                if let Some((id, name)) = self.call(call, &place) {
                    self.check(ids.insert(id), &place.at("id"), Rule::Repeated);
                    open.insert(id, name);
                }
            }
        }
        self.check(open.is_empty(), &place, Rule::Results);
    }

    fn images(&mut self, fields: &Map<String, Value>, place: &Place) {
        let place = place.at("images");
        let images = said(fields, "images").and_then(|images| self.array(images, &place));
        for (k, image) in images.into_iter().flatten().enumerate() {
            let place = place.at(k);
            if let Some(text) = self.text(image, &place) {
                let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
                let is_sound = text.len().is_multiple_of(4) && text.chars().all(is_base64);
                self.check(is_sound && !text.is_empty(), &place, Rule::Image);
            }
        }
    }

    /// The id and the name of a call.
    fn call<'v>(&mut self, call: &'v Value, place: &Place) -> Option<(&'v str, &'v str)> {
        let fields = self.object(call, place)?;
        self.known_fields(fields, place, &["function", "id"]);
        self.required(fields, place, &["function", "id"]);
        let function = said(fields, "function")?;
        let place = place.at("function");
        let fields = self.object(function, &place)?;
        self.known_fields(fields, &place, &["arguments", "index", "name"]);
        self.required(fields, &place, &["arguments", "name"]);
        if let Some(name) = said(fields, "name") {
            self.words(name, &place.at("name"));
        }
        if let Some(arguments) = said(fields, "arguments") {
            let _fields = self.object(arguments, &place.at("arguments"));
        }
        Some((text_of(call, "id"), text_of(function, "name")))
    }
}

/// The fields of a message.
const FIELDS: &[&str] = &[
    "content",
    "images",
    "role",
    "thinking",
    "tool_call_id",
    "tool_calls",
    "tool_name",
];
