//! Rules for the conversation, and for its parts.

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said, text_of};

impl Found<'_> {
    pub(super) fn conversation(&mut self, body: &Map<String, Value>, root: &Place) {
        if let Some(system) = said(body, "systemInstruction") {
            let place = root.at("systemInstruction");
            for (place, part) in self.parts(system, &place) {
                self.check(part.get("text").is_some(), &place, Rule::WrongValue);
            }
        }
        let place = root.at("contents");
        let Some(contents) = body.get("contents") else {
            return self.broken(&place, Rule::Missing);
        };
        let Some(contents) = self.array(contents, &place) else {
            return;
        };
        self.check(!contents.is_empty(), &place, Rule::Empty);
        let turn_start = contents.iter().rposition(is_said).unwrap_or(0);
        // The calls of the content before, by id and name.
        let mut open: Vec<(&str, &str)> = Vec::new();
        let mut before = "";
        for (n, content) in contents.iter().enumerate() {
            let place = place.at(n);
            let role = text_of(content, "role");
            let known = matches!(role, "model" | "user");
            self.check(known, &place.at("role"), Rule::Role);
            let parts = self.parts(content, &place);
            self.check(!parts.is_empty(), &place.at("parts"), Rule::Empty);
            let calls: Vec<&(Place, &Value)> = parts
                .iter()
                .filter(|(_, part)| part.get("functionCall").is_some())
                .collect();
            let answers = parts
                .iter()
                .filter_map(|(_, part)| part.get("functionResponse"))
                .map(|answer| (text_of(answer, "id"), text_of(answer, "name")));
            let answers: Vec<(&str, &str)> = answers.collect();
            if !open.is_empty() || !answers.is_empty() {
                let is_user = role == "user";
                self.check(is_user && answers == open, &place, Rule::Results);
            }
            open.clear();
            for (place, _) in &calls {
                self.check(
                    role == "model" && before == "user",
                    place,
                    Rule::CallOutOfPlace,
                );
            }
            if let Some((place, first)) = calls.first()
                && n > turn_start
                && self.profile.signed_calls
            {
                let signature = text_of(first, "thoughtSignature");
                self.check(!signature.is_empty(), place, Rule::Signature);
            }
            let called = calls
                .iter()
                .filter_map(|(_, part)| part.get("functionCall"));
            open.extend(called.map(|call| (text_of(call, "id"), text_of(call, "name"))));
            before = role;
        }
        self.check(open.is_empty(), &place, Rule::Results);
    }

    /// The parts of a content, each of which is checked.
    fn parts<'v>(&mut self, content: &'v Value, place: &Place) -> Vec<(Place, &'v Value)> {
        let Some(fields) = self.object(content, place) else {
            return Vec::new();
        };
        self.known_fields(fields, place, &["parts", "role"]);
        let place = place.at("parts");
        let Some(parts) = fields.get("parts") else {
            return Vec::new();
        };
        let parts = self.array(parts, &place).into_iter().flatten().enumerate();
        let parts: Vec<(Place, &Value)> = parts.map(|(n, part)| (place.at(n), part)).collect();
        for (place, part) in &parts {
            self.part(part, place);
        }
        parts
    }

    fn part(&mut self, part: &Value, place: &Place) {
        let Some(fields) = self.object(part, place) else {
            return;
        };
        let known: Vec<&str> = DATA.iter().chain(BESIDE).copied().collect();
        self.known_fields(fields, place, &known);
        let data = DATA.iter().filter(|key| said(fields, key).is_some());
        self.check(data.count() == 1, place, Rule::Data);
        if let Some(text) = said(fields, "text") {
            self.text(text, &place.at("text"));
        }
        if let Some(thought) = said(fields, "thought") {
            self.boolean(thought, &place.at("thought"));
        }
        if let Some(signature) = said(fields, "thoughtSignature") {
            self.text(signature, &place.at("thoughtSignature"));
        }
        if let Some(blob) = said(fields, "inlineData") {
            self.media(blob, "data", &place.at("inlineData"));
        }
        if let Some(file) = said(fields, "fileData") {
            self.media(file, "fileUri", &place.at("fileData"));
        }
        if let Some(call) = said(fields, "functionCall") {
            let place = place.at("functionCall");
            if let Some(fields) = self.object(call, &place) {
                self.known_fields(fields, &place, &["args", "id", "name"]);
                self.required(fields, &place, &["name"]);
                self.name(text_of(call, "name"), &place.at("name"));
                if let Some(args) = fields.get("args") {
                    self.object(args, &place.at("args"));
                }
            }
        }
        if let Some(response) = said(fields, "functionResponse") {
            self.response(response, &place.at("functionResponse"));
        }
    }

    fn response(&mut self, response: &Value, place: &Place) {
        let Some(fields) = self.object(response, place) else {
            return;
        };
        self.known_fields(fields, place, &["id", "name", "parts", "response"]);
        self.required(fields, place, &["name", "response"]);
        self.name(text_of(response, "name"), &place.at("name"));
        if let Some(value) = fields.get("response") {
            self.object(value, &place.at("response"));
        }
        let Some(parts) = said(fields, "parts") else {
            return;
        };
        let place = place.at("parts");
        self.check(self.profile.media_in_results, &place, Rule::UnknownField);
        for (n, part) in self.array(parts, &place).into_iter().flatten().enumerate() {
            let place = place.at(n);
            let is_medium = part.get("inlineData").or_else(|| part.get("fileData"));
            self.check(is_medium.is_some(), &place, Rule::Data);
            self.part(part, &place);
        }
    }

    fn media(&mut self, media: &Value, bytes: &str, place: &Place) {
        let Some(fields) = self.object(media, place) else {
            return;
        };
        self.known_fields(fields, place, &["mimeType", bytes]);
        self.required(fields, place, &["mimeType", bytes]);
        let media_type = text_of(media, "mimeType");
        let known = MEDIA_TYPES.contains(&media_type)
            || media_type.starts_with("text/")
            || media_type.starts_with("video/");
        self.check(known, &place.at("mimeType"), Rule::MediaType);
    }
}

/// Whether a content begins a turn: a user's, with anything but results.
fn is_said(content: &Value) -> bool {
    let parts = content.get("parts").and_then(Value::as_array);
    let mut parts = parts.into_iter().flatten();
    text_of(content, "role") == "user" && parts.any(|part| part.get("functionResponse").is_none())
}

/// The fields of a part that hold data.
const DATA: &[&str] = &[
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
    "text",
    "toolCall",
    "toolResponse",
];

const BESIDE: &[&str] = &[
    "mediaResolution",
    "partMetadata",
    "thought",
    "thoughtSignature",
    "videoMetadata",
];

/// The media types, but for texts and videos.
const MEDIA_TYPES: &[&str] = &[
    "application/pdf",
    "audio/aac",
    "audio/aiff",
    "audio/flac",
    "audio/mp3",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/webm",
    "audio/x-wav",
    "image/heic",
    "image/heif",
    "image/jpeg",
    "image/png",
    "image/webp",
];
