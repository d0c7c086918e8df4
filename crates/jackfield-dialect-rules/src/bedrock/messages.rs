//! Rules for the conversation of a body.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::blocks::Conversation;
use super::{Family, Found, Rule};
use crate::place::{Place, said, text_of};

impl Found<'_> {
    pub(super) fn messages(&mut self, body: &Map<String, Value>, root: &Place) {
        let mut conversation = Conversation::default();
        conversation.cache_points = tool_cache_points(body);
        let place = root.at("system");
        let system = said(body, "system").and_then(|system| self.array(system, &place));
        for (n, block) in system.into_iter().flatten().enumerate() {
            let place = place.at(n);
            if let Some(fields) = self.object(block, &place) {
                self.known_fields(fields, &place, &["cachePoint", "guardContent", "text"]);
                if let Some(text) = said(fields, "text") {
                    self.words(text, &place.at("text"));
                }
                if let Some(point) = said(fields, "cachePoint") {
                    conversation.cache_points += 1;
                    self.check(n > 0, &place, Rule::Misplaced);
                    self.cache_point(point, &place.at("cachePoint"));
                }
            }
        }
        let place = root.at("messages");
        let Some(messages) =
            said(body, "messages").and_then(|messages| self.array(messages, &place))
        else {
            return;
        };
        self.check(!messages.is_empty(), &place, Rule::Empty);
        // A conversation begins with the user.
        let mut before = "assistant";
        for (n, message) in messages.iter().enumerate() {
            let place = place.at(n);
            let Some(fields) = self.object(message, &place) else {
                continue;
            };
            self.known_fields(fields, &place, &["content", "role"]);
            self.required(fields, &place, &["content", "role"]);
            let role = text_of(message, "role");
            let roles = ["assistant", "system", "user"];
            self.check(roles.contains(&role), &place.at("role"), Rule::WrongValue);
            let is_systems = role == "system";
            let may = !is_systems || *self.profile == Family::Claude;
            self.check(may, &place.at("role"), Rule::NotSupported);
            self.check(is_systems || role != before, &place.at("role"), Rule::Roles);
            before = role;
            let open: HashSet<&str> = std::mem::take(&mut conversation.open);
            conversation.due = open;
            self.content(fields, (role, &place), &mut conversation);
            // All results stand in the message after the calls.
            self.check(conversation.due.is_empty(), &place, Rule::Results);
        }
        self.check(conversation.open.is_empty(), &place, Rule::Results);
        self.check(conversation.cache_points <= 4, &place, Rule::TooMany);
        let is_needed = conversation.has_calls && !body.contains_key("toolConfig");
        self.check(!is_needed, &root.at("toolConfig"), Rule::ToolConfig);
    }

    fn content<'v>(
        &mut self,
        message: &'v Map<String, Value>,
        (role, place): (&str, &Place),
        conversation: &mut Conversation<'v>,
    ) {
        let place = place.at("content");
        let Some(blocks) = said(message, "content").and_then(|content| self.array(content, &place))
        else {
            return;
        };
        self.check(!blocks.is_empty(), &place, Rule::Empty);
        for (k, block) in blocks.iter().enumerate() {
            self.block(block, (role, &place.at(k)), conversation);
        }
        let has = |name: &str| blocks.iter().any(|block| block.get(name).is_some());
        self.check(!has("document") || has("text"), &place, Rule::Missing);
        let first = blocks.first();
        let is_cached = first.is_some_and(|first| first.get("cachePoint").is_some());
        self.check(!is_cached, &place.at(0), Rule::Misplaced);
    }
}

/// The cache points among the tools, which count, too.
fn tool_cache_points(body: &Map<String, Value>) -> usize {
    let tools = body
        .get("toolConfig")
        .and_then(|config| config.get("tools"));
    let tools = tools.and_then(Value::as_array).into_iter().flatten();
    tools
        .filter(|tool| tool.get("cachePoint").is_some())
        .count()
}
