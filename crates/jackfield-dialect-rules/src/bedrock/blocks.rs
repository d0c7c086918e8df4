//! Rules for the blocks of messages.

use std::collections::HashSet;

use serde_json::Value;

use super::{Family, Found, Rule, is_form};
use crate::place::{Place, said, text_of};

/// What was seen of a conversation.
#[derive(Default)]
pub(super) struct Conversation<'v> {
    pub(super) cache_points: usize,
    /// The calls whose results belong to this message.
    pub(super) due: HashSet<&'v str>,
    pub(super) has_calls: bool,
    ids: HashSet<&'v str>,
    names: HashSet<&'v str>,
    /// The calls of this message.
    pub(super) open: HashSet<&'v str>,
}

impl Found<'_> {
    pub(super) fn block<'v>(
        &mut self,
        block: &'v Value,
        (role, place): (&str, &Place),
        conversation: &mut Conversation<'v>,
    ) {
        let Some(fields) = self.object(block, place) else {
            return;
        };
        let [(kind, value)] = fields.iter().collect::<Vec<_>>()[..] else {
            self.broken(place, Rule::WrongType);
            return;
        };
        let place = place.at(kind);
        let users = ["document", "image", "toolResult"].contains(&kind.as_str());
        let models = ["reasoningContent", "toolUse"].contains(&kind.as_str());
        let is_here = match role {
            "assistant" => !users,
            "system" => !users && !models,
            _ => !models,
        };
        self.check(is_here, &place, Rule::Misplaced);
        match kind.as_str() {
            "cachePoint" => {
                conversation.cache_points += 1;
                self.cache_point(value, &place);
            }
            "document" => self.document(value, &place, &mut conversation.names),
            "image" => self.image(value, &place),
            "reasoningContent" => self.reasoning(value, &place),
            "text" => self.words(value, &place),
            "toolResult" => {
                conversation.has_calls = true;
                let is_due = conversation.due.remove(text_of(value, "toolUseId"));
                self.check(is_due, &place, Rule::Results);
                self.result(value, &place, &mut conversation.names);
            }
            "toolUse" => {
                conversation.has_calls = true;
                let id = text_of(value, "toolUseId");
                self.check(
                    conversation.ids.insert(id),
                    &place.at("toolUseId"),
                    Rule::Repeated,
                );
                conversation.open.insert(id);
                self.call(value, &place);
            }
            _ => self.broken(&place, Rule::UnknownField),
        }
    }

    pub(super) fn cache_point(&mut self, point: &Value, place: &Place) {
        let may = matches!(self.profile, Family::Claude | Family::Nova);
        self.check(may, place, Rule::NotSupported);
        self.check(
            text_of(point, "type") == "default",
            &place.at("type"),
            Rule::WrongValue,
        );
        if let Some(ttl) = point.get("ttl") {
            self.one_of(ttl, &place.at("ttl"), &["1h", "5m"]);
        }
    }

    fn reasoning(&mut self, reasoning: &Value, place: &Place) {
        let shown = reasoning.get("reasoningText");
        let hidden = reasoning.get("redactedContent");
        match (shown, hidden) {
            (Some(shown), None) => {
                let place = place.at("reasoningText");
                if let Some(fields) = self.object(shown, &place) {
                    self.known_fields(fields, &place, &["signature", "text"]);
                    self.required(fields, &place, &["text"]);
                }
            }
            (None, Some(hidden)) => self.bytes(hidden, &place.at("redactedContent")),
            _ => self.broken(place, Rule::WrongType),
        }
    }

    fn call(&mut self, call: &Value, place: &Place) {
        let Some(fields) = self.object(call, place) else {
            return;
        };
        self.known_fields(fields, place, &["input", "name", "toolUseId"]);
        self.id(call, place);
        let name = text_of(call, "name");
        self.check(is_form(name, 64, "_-"), &place.at("name"), Rule::Form);
        let input = fields.get("input");
        self.check(
            input.is_some_and(Value::is_object),
            &place.at("input"),
            Rule::WrongType,
        );
    }

    fn id(&mut self, value: &Value, place: &Place) {
        let id = text_of(value, "toolUseId");
        self.check(is_form(id, 64, "_.:-"), &place.at("toolUseId"), Rule::Form);
    }

    fn result<'v>(&mut self, result: &'v Value, place: &Place, names: &mut HashSet<&'v str>) {
        let Some(fields) = self.object(result, place) else {
            return;
        };
        self.known_fields(fields, place, &["content", "status", "toolUseId"]);
        self.id(result, place);
        if let Some(status) = said(fields, "status") {
            let may = matches!(self.profile, Family::Claude | Family::Nova);
            self.check(may, &place.at("status"), Rule::NotSupported);
            self.one_of(status, &place.at("status"), &["error", "success"]);
        }
        let place = place.at("content");
        let Some(parts) = fields
            .get("content")
            .and_then(|parts| self.array(parts, &place))
        else {
            self.broken(&place, Rule::Missing);
            return;
        };
        self.check(!parts.is_empty(), &place, Rule::Empty);
        for (k, part) in parts.iter().enumerate() {
            let place = place.at(k);
            let Some((kind, value)) = part.as_object().and_then(|part| part.iter().next()) else {
                self.broken(&place, Rule::WrongType);
                continue;
            };
            let place = place.at(kind);
            match kind.as_str() {
                "document" => self.document(value, &place, names),
                "image" => self.image(value, &place),
                "json" => {}
                "text" => self.words(value, &place),
                _ => self.broken(&place, Rule::UnknownField),
            }
        }
    }

    fn image(&mut self, image: &Value, place: &Place) {
        let formats = ["gif", "jpeg", "png", "webp"];
        let format = text_of(image, "format");
        self.check(
            formats.contains(&format),
            &place.at("format"),
            Rule::WrongValue,
        );
        self.source(image, place, false);
    }

    fn document<'v>(&mut self, document: &'v Value, place: &Place, names: &mut HashSet<&'v str>) {
        let Some(fields) = self.object(document, place) else {
            return;
        };
        let known = ["citations", "context", "format", "name", "source"];
        self.known_fields(fields, place, &known);
        let formats = [
            "csv", "doc", "docx", "html", "md", "pdf", "txt", "xls", "xlsx",
        ];
        let format = text_of(document, "format");
        self.check(
            formats.contains(&format),
            &place.at("format"),
            Rule::WrongValue,
        );
        let name = text_of(document, "name");
        let is_form = is_form(name, 200, " -()[]") && !name.contains("  ") && name.trim() == name;
        self.check(is_form, &place.at("name"), Rule::Form);
        self.check(names.insert(name), &place.at("name"), Rule::Repeated);
        let is_claude = *self.profile == Family::Claude;
        for field in ["citations", "context"] {
            let may = is_claude || !fields.contains_key(field);
            self.check(may, &place.at(field), Rule::NotSupported);
        }
        self.source(document, place, is_claude);
    }

    /// The contents of a medium, as text only if they may be.
    fn source(&mut self, medium: &Value, place: &Place, may_be_text: bool) {
        let place = place.at("source");
        let source = medium.get("source").and_then(Value::as_object);
        let one = source.filter(|source| source.len() == 1);
        let one = one.and_then(|source| source.iter().next());
        match one.map(|(kind, value)| (kind.as_str(), value)) {
            Some(("bytes", bytes)) => self.bytes(bytes, &place.at("bytes")),
            Some(("text", text)) if may_be_text => self.words(text, &place.at("text")),
            Some(_) | None => self.broken(&place, Rule::WrongType),
        }
    }

    /// Bytes in base64, at least one.
    fn bytes(&mut self, value: &Value, place: &Place) {
        if let Some(text) = self.text(value, place) {
            let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
            let is_sound = text.len().is_multiple_of(4) && text.chars().all(is_base64);
            self.check(is_sound && !text.is_empty(), place, Rule::Form);
        }
    }
}
