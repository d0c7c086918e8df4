//! Rules for single content blocks.

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said, text_of};

/// The place of a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stand {
    Assistant,
    Result,
    System,
    User,
}

/// The types of blocks with results of the provider's own tools.
const PROVIDER_RESULTS: &[&str] = &[
    "advisor_tool_result",
    "bash_code_execution_tool_result",
    "code_execution_tool_result",
    "mcp_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "web_fetch_tool_result",
    "web_search_tool_result",
];

/// The tools that the provider runs.
const PROVIDER_TOOLS: &[&str] = &[
    "bash_code_execution",
    "code_execution",
    "text_editor_code_execution",
    "tool_search_tool_bm25",
    "tool_search_tool_regex",
    "web_fetch",
    "web_search",
];

impl Found<'_> {
    /// The cache point of a block or tool, if it has one.
    pub(super) fn cache_control(&mut self, fields: &Map<String, Value>, place: &Place) {
        let place = place.at("cache_control");
        let Some(cache) = said(fields, "cache_control") else {
            return;
        };
        let Some(cache) = self.object(cache, &place) else {
            return;
        };
        self.known_fields(cache, &place, &["type", "ttl"]);
        let sound = cache.get("type").and_then(Value::as_str) == Some("ephemeral")
            && matches!(
                cache.get("ttl").map(Value::as_str),
                None | Some(Some("5m" | "1h"))
            );
        self.check(sound, &place, Rule::CacheControl);
    }

    pub(super) fn block(&mut self, block: &Value, stand: Stand, place: &Place) {
        use Stand::{Assistant, Result, System, User};
        let Some(fields) = self.object(block, place) else {
            return;
        };
        let (stands, known): (&[Stand], &[&str]) = match text_of(block, "type") {
            "text" => {
                self.text_block(fields, stand, place);
                (&[Assistant, Result, System, User], &["text", "citations"])
            }
            "image" => {
                self.source(fields, "image", place);
                (&[Result, User], &["source", "transformations"])
            }
            "document" => {
                self.source(fields, "document", place);
                if stand == Assistant {
                    self.broken(place, Rule::DocumentOfAssistant);
                }
                let known = &["source", "title", "context", "citations"];
                (&[Assistant, Result, User], known)
            }
            "search_result" => {
                self.required(fields, place, &["content", "source", "title"]);
                let known = &["content", "source", "title", "citations"];
                (&[Result, User], known)
            }
            "thinking" => {
                self.texts(fields, &["thinking", "signature"], place);
                (&[Assistant], &["thinking", "signature"])
            }
            "redacted_thinking" => {
                self.texts(fields, &["data"], place);
                (&[Assistant], &["data"])
            }
            "tool_use" => {
                self.call(fields, place);
                (
                    &[Assistant],
                    &["id", "name", "input", "caller", "toolset_name"],
                )
            }
            "tool_result" => {
                self.result(fields, place);
                let known = &["tool_use_id", "content", "is_error", "toolset_name"];
                (&[User], known)
            }
            "server_tool_use" => {
                self.call(fields, place);
                let known = PROVIDER_TOOLS.contains(&text_of(block, "name"));
                self.check(known, &place.at("name"), Rule::WrongValue);
                (&[Assistant], &["id", "name", "input", "caller"])
            }
            "mcp_tool_use" => {
                self.call(fields, place);
                (&[Assistant], &["id", "name", "input", "server_name"])
            }
            "container_upload" => {
                self.texts(fields, &["file_id"], place);
                (&[Assistant, User], &["file_id"])
            }
            "tool_reference" => {
                self.texts(fields, &["tool_name"], place);
                (&[Result], &["tool_name"])
            }
            kind if PROVIDER_RESULTS.contains(&kind) => {
                self.required(fields, place, &["tool_use_id", "content"]);
                (
                    &[Assistant],
                    &["tool_use_id", "content", "is_error", "caller"],
                )
            }
            // Forms that these rules do not cover.
            "browser_state" => return,
            "compaction" | "fallback" | "mcp_tool_listing" => return,
            "tool_addition" | "tool_removal" if stand == System => return,
            _ => {
                self.broken(&place.at("type"), Rule::WrongValue);
                return;
            }
        };
        self.check(stands.contains(&stand), place, Rule::BlockOutOfPlace);
        let can_cache = !matches!(text_of(block, "type"), "thinking" | "redacted_thinking");
        let shared: &[&str] = if can_cache {
            self.cache_control(fields, place);
            &["type", "cache_control"]
        } else {
            &["type"]
        };
        let known: Vec<&str> = shared.iter().chain(known).copied().collect();
        self.known_fields(fields, place, &known);
    }

    fn text_block(&mut self, fields: &Map<String, Value>, stand: Stand, place: &Place) {
        match fields.get("text") {
            Some(text) => self.words(text, &place.at("text")),
            None => self.broken(&place.at("text"), Rule::Missing),
        }
        if let Some(citations) = said(fields, "citations") {
            let place = place.at("citations");
            let some = self
                .array(citations, &place)
                .is_some_and(|list| !list.is_empty());
            self.check(
                !some || stand == Stand::Assistant,
                &place,
                Rule::CitationsOfUser,
            );
        }
    }

    fn texts(&mut self, fields: &Map<String, Value>, keys: &[&str], place: &Place) {
        self.required(fields, place, keys);
        for key in keys {
            if let Some(value) = fields.get(*key) {
                self.text(value, &place.at(key));
            }
        }
    }

    fn call(&mut self, fields: &Map<String, Value>, place: &Place) {
        self.texts(fields, &["id", "name"], place);
        if let Some(name) = fields.get("name") {
            self.name(name, &place.at("name"));
        }
        if let Some(id) = fields.get("id") {
            self.words(id, &place.at("id"));
        }
        match fields.get("input") {
            Some(input) => {
                let place = place.at("input");
                self.check(input.is_object(), &place, Rule::InputNoObject);
            }
            None => self.broken(&place.at("input"), Rule::Missing),
        }
    }

    fn result(&mut self, fields: &Map<String, Value>, place: &Place) {
        self.texts(fields, &["tool_use_id"], place);
        if let Some(failed) = fields.get("is_error") {
            self.boolean(failed, &place.at("is_error"));
        }
        let mut says = false;
        match said(fields, "content") {
            None => {}
            Some(Value::String(text)) => says = !text.trim().is_empty(),
            Some(content) => {
                let place = place.at("content");
                for (n, block) in self
                    .array(content, &place)
                    .into_iter()
                    .flatten()
                    .enumerate()
                {
                    says |= text_of(block, "type") == "text";
                    self.block(block, Stand::Result, &place.at(n));
                }
            }
        }
        let failed = fields.get("is_error") == Some(&Value::Bool(true));
        self.check(says || !failed, place, Rule::ErrorWithoutText);
    }

    fn source(&mut self, fields: &Map<String, Value>, what: &str, place: &Place) {
        let place = place.at("source");
        let Some(source) = fields.get("source") else {
            return self.broken(&place, Rule::Missing);
        };
        let Some(fields) = self.object(source, &place) else {
            return;
        };
        let media_type = text_of(source, "media_type");
        let known: &[&str] = match (text_of(source, "type"), what) {
            ("base64", "image") => {
                let known = ["image/jpeg", "image/png", "image/gif", "image/webp"];
                self.check(known.contains(&media_type), &place, Rule::ImageType);
                &["media_type", "data"]
            }
            ("base64", _) => {
                self.check(media_type == "application/pdf", &place, Rule::WrongValue);
                &["media_type", "data"]
            }
            ("text", "document") => {
                self.check(media_type == "text/plain", &place, Rule::WrongValue);
                &["media_type", "data"]
            }
            ("content", "document") => return,
            ("url", _) => &["url"],
            ("file", _) => &["file_id"],
            (_, _) => return self.broken(&place.at("type"), Rule::WrongValue),
        };
        self.texts(fields, known, &place);
        let known: Vec<&str> = known.iter().chain(&["type"]).copied().collect();
        self.known_fields(fields, &place, &known);
    }
}
