//! Maps outcomes of tool calls to output items.

use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::{json_text, media_text};
use jackfield_domain::block::Block;
use jackfield_domain::media::{Document, MediaSource};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use serde_json::Value;

use super::conversation::{RequestWriter, breakpoint};
use super::media::full_document_text;
use crate::responses::{state, wire};

/// The prefix of an outcome that is an error, as the dialect has no field for it.
pub(crate) const ERROR: &str = "The tool failed: ";

impl RequestWriter<'_> {
    /// The output of a call; its media are appended to `shown` if the server accepts none in outputs.
    pub(super) fn outcome(
        &mut self,
        at: BlockPath,
        block: &Block,
        outcome: &ToolOutcome,
        user_parts: &mut Vec<wire::Part>,
    ) -> wire::Item {
        let found = state::find(&outcome.opaque, self.owner, state::OUTPUT);
        let found = found.and_then(|(place, json)| {
            Some((place, state::fields(json, &state::FIELDS_OF_OUTPUT)?))
        });
        let place = found.map(|(place, _)| place);
        let path = format_args!("{at}.outcome");
        self.notes.withheld(path, &outcome.opaque, place.as_slice());
        let mut extra = found
            .map(|(_, fields)| state::without_nulls(fields))
            .unwrap_or_default();
        let sent = self.sent_calls.get(&outcome.call);
        let custom = sent.is_some_and(|sent| sent.custom);
        if let Some(caller) = sent.and_then(|sent| sent.caller.as_ref()) {
            extra.entry("caller").or_insert_with(|| caller.clone());
        }
        let mut media = Vec::new();
        let mut parts = self.result(at, &outcome.result, &mut media);
        if !media.is_empty() {
            let call = self.ids.wire_id(&outcome.call);
            user_parts.push(text(&format!("[What the call {call} returned:]")));
            user_parts.append(&mut media);
        }
        if let Some(point) = self.cache_point(at, block) {
            if parts.is_empty() {
                parts.push(text(""));
            }
            if let Some(place) = parts.last_mut().and_then(breakpoint) {
                *place = Some(point);
            }
        }
        let output = wire::Output {
            call_id: self.ids.wire_id(&outcome.call),
            output: content(parts),
            extra,
        };
        if custom {
            wire::Item::CustomToolCallOutput(output)
        } else {
            wire::Item::FunctionCallOutput(output)
        }
    }

    fn result(
        &mut self,
        at: BlockPath,
        result: &ToolResult,
        media: &mut Vec<wire::Part>,
    ) -> Vec<wire::Part> {
        let mut parts = Vec::with_capacity(result.content.len());
        for (k, part) in result.content.iter().enumerate() {
            parts.extend(self.outcome_part(at, k, part, media));
        }
        if let Some(json) = &result.structured {
            if parts.is_empty() {
                let path = format_args!("{at}.result");
                self.notes
                    .approximated(NoteEffect::Cosmetic, "structured_as_text", path);
                parts.push(text(&json.to_string()));
            } else {
                // Tools usually return the same value as text; otherwise the model does not get it.
                let effect = if has_json_text(result, json) {
                    NoteEffect::Cosmetic
                } else {
                    NoteEffect::Quality
                };
                let path = format_args!("{at}.result.structured");
                self.notes.dropped(effect, "structured_not_sent", path);
            }
        }
        if result.is_error {
            let path = format_args!("{at}.result");
            self.notes
                .approximated(NoteEffect::Cosmetic, "error_put_into_words", path);
            match parts.first_mut() {
                Some(wire::Part::InputText { text, .. }) => text.insert_str(0, ERROR),
                Some(_) | None => parts.insert(0, text("The tool failed.")),
            }
        }
        parts
    }

    fn outcome_part(
        &mut self,
        at: BlockPath,
        k: usize,
        part: &OutcomePart,
        media: &mut Vec<wire::Part>,
    ) -> Option<wire::Part> {
        let path = format_args!("{at}.result.content[{k}]");
        let (shown, words) = match part {
            OutcomePart::Text(words) if words.trim().is_empty() => {
                self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                return None;
            }
            OutcomePart::Text(words) => return Some(text(words)),
            OutcomePart::Audio(audio) => (None, media_text::audio(audio)),
            OutcomePart::Document(Document {
                source: MediaSource::Text(said),
                ..
            }) if said.trim().is_empty() => {
                self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                return None;
            }
            OutcomePart::Document(
                document @ Document {
                    source: MediaSource::Text(said),
                    ..
                },
            ) => {
                self.notes
                    .approximated(NoteEffect::Cosmetic, "document_as_text", path);
                return Some(text(&full_document_text(document, said)));
            }
            OutcomePart::Document(document) => match self.file(document) {
                Some(part) if self.profile.output_media => {
                    self.note_document(&path.to_string(), document);
                    return Some(part);
                }
                shown @ (Some(_) | None) => {
                    (shown, media_text::source("document", &document.source))
                }
            },
            OutcomePart::Image(image) => match self.picture(image) {
                Some(part) if self.profile.output_media => {
                    self.note_detail(&path.to_string(), image);
                    return Some(part);
                }
                shown @ (Some(_) | None) => (shown, media_text::source("image", &image.source)),
            },
        };
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
        Some(text(&words))
    }
}

/// A single text is sent as a string, which every server accepts.
fn content(mut parts: Vec<wire::Part>) -> wire::OutputContent {
    match parts.as_mut_slice() {
        [] => wire::OutputContent::Text(String::new()),
        [
            wire::Part::InputText {
                text,
                prompt_cache_breakpoint: None,
            },
        ] => wire::OutputContent::Text(std::mem::take(text)),
        _ => wire::OutputContent::Parts(parts),
    }
}

fn text(text: &str) -> wire::Part {
    wire::Part::InputText {
        text: text.to_owned(),
        prompt_cache_breakpoint: None,
    }
}

/// Whether a text part of the result equals this JSON value.
fn has_json_text(result: &ToolResult, json: &Value) -> bool {
    let mut texts = result.content.iter().filter_map(OutcomePart::as_text);
    texts.any(|text| json_text::matches(text, json))
}
