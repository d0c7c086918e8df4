//! Maps outcomes of tool calls: one text message each; their media follow separately.

use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::{json_text, media_text};
use jackfield_domain::block::Content;
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use serde_json::Value;

use super::Unsupported;
use super::content::{document_text, into_content, text_part};
use super::conversation::RequestWriter;
use crate::chat::wire;
use crate::profile::MessageOrder;

/// The text for an error without a message.
const SILENT_ERROR: &str = "The tool failed and did not say why.";

impl RequestWriter<'_> {
    /// Adds all outcomes of one reply, followed by their media.
    pub(super) fn outcomes(&mut self, n: usize, message: &Message) -> Result<(), Unsupported> {
        let path = format_args!("messages[{n}]");
        self.notes.withheld(path, &message.opaque, &[]);
        let mut user_parts = Vec::new();
        for (at, block) in BlockPath::of(message, n) {
            let Content::ToolOutcome(outcome) = &block.content else {
                return Err(at.unsupported("tools have outcomes alone"));
            };
            self.notes.withheld(at, &block.opaque, &[]);
            let text = self.outcome(at, outcome, &mut user_parts);
            let mut part = text_part(&text);
            if text.is_empty() {
                self.notes.cache_point_lost(at, block);
            } else {
                self.set_cache_point(at, block, &mut part);
            }
            let content = into_content(vec![part]);
            self.messages.push(wire::Message {
                content: Some(content),
                tool_call_id: Some(self.ids.wire_id(&outcome.call)),
                ..wire::Message::new(wire::Role::Tool)
            });
        }
        if !user_parts.is_empty() {
            self.push_user(n, wire::Content::Parts(user_parts), true);
        }
        Ok(())
    }

    /// The text of an outcome; its media are appended to `shown`.
    fn outcome(
        &mut self,
        at: BlockPath,
        outcome: &ToolOutcome,
        user_parts: &mut Vec<wire::Part>,
    ) -> String {
        let path = format_args!("{at}.outcome");
        self.notes.withheld(path, &outcome.opaque, &[]);
        let result = &outcome.result;
        let name = self.ids.wire_id(&outcome.call);
        let mut texts = Vec::with_capacity(result.content.len());
        let mut media = Vec::new();
        for (k, part) in result.content.iter().enumerate() {
            texts.extend(self.outcome_part(at, k, part, &mut media));
        }
        if !media.is_empty() {
            user_parts.push(text_part(&format!("[What the call {name} returned:]")));
            user_parts.extend(media);
        }
        self.structured(at, result, &mut texts);
        if texts.len() > 1 {
            let path = format_args!("{at}.result.content");
            self.notes
                .approximated(NoteEffect::Cosmetic, "texts_joined", path);
        }
        let text = texts.join("\n");
        if !result.is_error {
            return text;
        }
        let path = format_args!("{at}.result");
        self.notes
            .approximated(NoteEffect::Cosmetic, "error_put_into_words", path);
        if text.is_empty() {
            return SILENT_ERROR.to_owned();
        }
        let says_so = text.trim_start().get(..5);
        if says_so.is_some_and(|start| start.eq_ignore_ascii_case("error")) {
            return text;
        }
        format!("Error: {text}")
    }

    fn structured(&mut self, at: BlockPath, result: &ToolResult, texts: &mut Vec<String>) {
        let Some(json) = &result.structured else {
            return;
        };
        if texts.is_empty() {
            let path = format_args!("{at}.result");
            self.notes
                .approximated(NoteEffect::Cosmetic, "structured_as_text", path);
            texts.push(json.to_string());
            return;
        }
        // Tools usually return the same value as text; otherwise the model does not get it.
        let effect = if has_json_text(result, json) {
            NoteEffect::Cosmetic
        } else {
            NoteEffect::Quality
        };
        let path = format_args!("{at}.result.structured");
        self.notes.dropped(effect, "structured_not_sent", path);
    }

    /// The text for a part; a medium that the server takes from users is appended to `media`.
    fn outcome_part(
        &mut self,
        at: BlockPath,
        k: usize,
        part: &OutcomePart,
        media: &mut Vec<wire::Part>,
    ) -> Option<String> {
        let path = format_args!("{at}.result.content[{k}]");
        let (shown, words) = match part {
            OutcomePart::Text(text) if text.trim().is_empty() => {
                self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                return None;
            }
            OutcomePart::Text(text) => return Some((**text).to_owned()),
            OutcomePart::Audio(audio) => (self.audio(audio), media_text::audio(audio)),
            OutcomePart::Document(document) => match &document.source {
                MediaSource::Text(text) if text.trim().is_empty() => {
                    self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                    return None;
                }
                MediaSource::Text(text) => {
                    self.notes
                        .approximated(NoteEffect::Cosmetic, "document_as_text", path);
                    return Some(document_text(document, text));
                }
                source @ (MediaSource::Base64 { .. }
                | MediaSource::File { .. }
                | MediaSource::Url(_)) => (
                    self.document(document),
                    media_text::source("document", source),
                ),
            },
            OutcomePart::Image(image) => (
                self.image(image),
                media_text::source("image", &image.source),
            ),
        };
        // If no user message may follow tool messages, media in outcomes cannot be sent.
        let shown = shown.filter(|_| self.profile.message_order != MessageOrder::AnswerAfterTools);
        match shown {
            Some(part) => {
                self.notes
                    .approximated(NoteEffect::Quality, "media_shown_by_user", path);
                media.push(part);
            }
            None => self
                .notes
                .approximated(NoteEffect::Meaning, "media_as_text", path),
        }
        Some(words)
    }
}

/// Whether a text part of the result equals this JSON value.
fn has_json_text(result: &ToolResult, json: &Value) -> bool {
    let mut texts = result.content.iter().filter_map(OutcomePart::as_text);
    texts.any(|text| json_text::matches(text, json))
}
