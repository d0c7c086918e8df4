//! Rules for the conversation: how its messages relate.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::blocks::Stand;
use super::{Found, Rule};
use crate::place::{Place, text_of};

/// A message merged with the following ones of the same role, as the vendor does it. A message that is a string is
/// kept as such.
#[derive(Debug)]
struct Turn<'v> {
    blocks: Vec<(Place, &'v Value)>,
    role: &'v str,
}

impl Found<'_> {
    pub(super) fn conversation(&mut self, body: &Map<String, Value>, root: &Place) {
        self.system(body, root);
        let place = root.at("messages");
        let Some(messages) = body
            .get("messages")
            .and_then(|list| self.array(list, &place))
        else {
            return;
        };
        self.check(!messages.is_empty(), &place, Rule::Empty);
        self.check(messages.len() <= 100_000, &place, Rule::TooMany);
        let mut turns: Vec<Turn<'_>> = Vec::new();
        for (n, message) in messages.iter().enumerate() {
            let Some((role, blocks)) = self.message(message, &place.at(n)) else {
                continue;
            };
            match turns.last_mut() {
                Some(before) if before.role == role => before.blocks.extend(blocks),
                Some(_) | None => turns.push(Turn { blocks, role }),
            }
        }
        self.pairs(&turns);
        self.provider_pairs(&turns);
        self.end(&turns);
        let of_tools = |(_, block): &(Place, &Value)| {
            matches!(text_of(block, "type"), "tool_use" | "tool_result")
        };
        let called = turns.iter().flat_map(|turn| &turn.blocks).any(of_tools);
        let offered = body.get("tools").and_then(Value::as_array);
        let offered = offered.is_some_and(|tools| !tools.is_empty());
        self.check(offered || !called, &root.at("tools"), Rule::ToolsMissing);
        let points = cache_points(body);
        self.check(points <= 4, root, Rule::TooMany);
    }

    fn system(&mut self, body: &Map<String, Value>, place: &Place) {
        let place = place.at("system");
        match body.get("system") {
            None => {}
            Some(Value::String(text)) => {
                self.check(!text.trim().is_empty(), &place, Rule::Empty);
            }
            Some(system) => {
                for (n, block) in self.array(system, &place).into_iter().flatten().enumerate() {
                    self.block(block, Stand::System, &place.at(n));
                }
            }
        }
    }

    fn message<'v>(
        &mut self,
        message: &'v Value,
        place: &Place,
    ) -> Option<(&'v str, Vec<(Place, &'v Value)>)> {
        let fields = self.object(message, place)?;
        let role = text_of(message, "role");
        let has_settings = role == "system"
            && ["clear_at", "output_config"]
                .iter()
                .any(|name| fields.contains_key(*name));
        let (known, required): (&[&str], &[&str]) = if has_settings {
            (&["role", "content", "clear_at", "output_config"], &["role"])
        } else {
            (&["role", "content"], &["role", "content"])
        };
        self.known_fields(fields, place, known);
        self.required(fields, place, required);
        let stand = match role {
            "assistant" => Stand::Assistant,
            "system" => {
                let known = self.profile.system_messages;
                self.check(known, &place.at("role"), Rule::SystemRole);
                Stand::System
            }
            "user" => Stand::User,
            _ => {
                self.broken(&place.at("role"), Rule::WrongValue);
                return None;
            }
        };
        let place = place.at("content");
        let content = fields.get("content")?;
        if let Some(text) = content.as_str() {
            self.check(!text.trim().is_empty(), &place, Rule::Empty);
            return Some((role, vec![(place, content)]));
        }
        let blocks = self.array(content, &place)?;
        self.check(!blocks.is_empty(), &place, Rule::Empty);
        for (n, block) in blocks.iter().enumerate() {
            self.block(block, stand, &place.at(n));
        }
        let placed = blocks.iter().enumerate();
        let blocks = placed.map(|(n, block)| (place.at(n), block)).collect();
        Some((role, blocks))
    }

    /// Every call has its result in the next message, and every result its call in the message before.
    fn pairs(&mut self, turns: &[Turn<'_>]) {
        let mut seen = HashSet::new();
        let mut before: Vec<(&Place, &str)> = Vec::new();
        for turn in turns {
            let mut answered = HashSet::new();
            let mut others = false;
            let mut calls = Vec::new();
            for (place, block) in &turn.blocks {
                match text_of(block, "type") {
                    "tool_result" => {
                        let call = text_of(block, "tool_use_id");
                        self.check(!others, place, Rule::ResultNotFirst);
                        self.check(answered.insert(call), place, Rule::Repeated);
                        let known = before.iter().any(|(_, id)| *id == call);
                        self.check(known, place, Rule::ResultWithoutCall);
                    }
                    "tool_use" => {
                        let id = text_of(block, "id");
                        self.check(seen.insert(id), &place.at("id"), Rule::Repeated);
                        calls.push((place, id));
                    }
                    _ => others = true,
                }
            }
            for (place, call) in std::mem::take(&mut before) {
                self.check(answered.contains(call), place, Rule::UnansweredCall);
            }
            before = calls;
        }
        for (place, _) in before {
            self.broken(place, Rule::UnansweredCall);
        }
    }

    /// A provider's call has its result at any later place, unless the reply was paused.
    fn provider_pairs(&mut self, turns: &[Turn<'_>]) {
        let mut open: Vec<(&Place, &str)> = Vec::new();
        for (n, turn) in turns.iter().enumerate() {
            for (place, block) in &turn.blocks {
                let kind = text_of(block, "type");
                if matches!(kind, "server_tool_use" | "mcp_tool_use") {
                    open.push((place, text_of(block, "id")));
                } else if kind.ends_with("_tool_result") {
                    let call = text_of(block, "tool_use_id");
                    let known = open.iter().any(|(_, id)| *id == call);
                    self.check(known, place, Rule::ProviderCallSplit);
                    open.retain(|(_, id)| *id != call);
                }
            }
            let paused = n + 1 == turns.len() && turn.role == "assistant";
            if turn.role == "assistant" && !paused {
                for (place, _) in std::mem::take(&mut open) {
                    self.broken(place, Rule::ProviderCallSplit);
                }
            }
        }
    }

    /// Only older models continue an assistant message, and none does after trailing blanks.
    fn end(&mut self, turns: &[Turn<'_>]) {
        let Some(Turn {
            role: "assistant",
            blocks,
        }) = turns.last()
        else {
            return;
        };
        let paused = |(_, block): &(Place, &Value)| {
            matches!(text_of(block, "type"), "server_tool_use" | "mcp_tool_use")
        };
        let allowed = self.profile.prefill || blocks.iter().any(paused);
        if let Some((place, block)) = blocks.last() {
            let text = block.as_str().unwrap_or_else(|| text_of(block, "text"));
            let sound = allowed && text.trim_end() == text;
            self.check(sound, place, Rule::Prefill);
        }
    }
}

/// The number of cache points, at any place.
fn cache_points(body: &Map<String, Value>) -> usize {
    let own = usize::from(body.get("cache_control").is_some_and(Value::is_object));
    let lists = ["system", "tools"].iter().filter_map(|key| body.get(*key));
    let messages = body.get("messages").and_then(Value::as_array);
    let contents = messages.into_iter().flatten();
    let contents = contents.filter_map(|message| message.get("content"));
    let blocks = lists.chain(contents).filter_map(Value::as_array).flatten();
    let of_block = |block: &Value| {
        let own = usize::from(block.get("cache_control").is_some_and(Value::is_object));
        let inner = block.get("content").and_then(Value::as_array);
        let inner = inner.into_iter().flatten();
        own + inner
            .filter(|part| part.get("cache_control").is_some_and(Value::is_object))
            .count()
    };
    own + blocks.map(of_block).sum::<usize>()
}
