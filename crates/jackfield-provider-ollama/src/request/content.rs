//! Maps what a message of the user, of the system or of a tool contains.

use std::fmt::Arguments;

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::outgoing::results::{self, Medium};
use jackfield_domain::block::Content;
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::Role;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome};

use super::Unsupported;
use super::conversation::{Part, RequestWriter};
use crate::wire;

impl RequestWriter<'_> {
    /// A block of a user or system message; `None` if it is left out, which has been noted.
    pub(super) fn part(
        &mut self,
        at: BlockPath,
        content: &Content,
    ) -> Result<Option<Part>, Unsupported> {
        Ok(match content {
            Content::Audio(_) => {
                return Err(at.unsupported("Ollama takes no sounds"));
            }
            Content::Document(document) => {
                let MediaSource::Text(text) = &document.source else {
                    return Err(at.unsupported("Ollama takes documents as text alone"));
                };
                if self.notes.is_blank(at, text) {
                    return Ok(None);
                }
                self.notes
                    .approximated(NoteEffect::Cosmetic, "document_as_text", at);
                Some(Part::Text(media_text::document(document, text)))
            }
            Content::Image(image) => {
                let data = image_data(image).filter(|_| at.role == Role::User);
                let reason =
                    "Ollama takes pictures as JPEG, PNG or WebP, from a user and not by address";
                let data = data.ok_or_else(|| at.unsupported(reason))?;
                self.notes.image_detail_lost(at, image);
                Some(Part::Image(data))
            }
            Content::Opaque(opaque) => {
                let text = self.notes.fallback(at, opaque);
                text.map(|text| Part::Text(text.to_owned()))
            }
            Content::Refusal(text) => {
                if self.notes.is_blank(at, text) {
                    return Ok(None);
                }
                self.notes
                    .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
                Some(Part::Text((**text).to_owned()))
            }
            Content::Text(text) => {
                if self.notes.is_blank(at, &text.text) {
                    return Ok(None);
                }
                self.notes.annotations_lost(at, text);
                Some(Part::Text((*text.text).to_owned()))
            }
            Content::Thinking(_) => {
                self.notes
                    .dropped(NoteEffect::Quality, "thinking_withheld", at);
                None
            }
            Content::ToolCall(_) => {
                return Err(at.unsupported("only the model calls tools"));
            }
            Content::ToolOutcome(_) => {
                return Err(at.unsupported("only tools have outcomes"));
            }
        })
    }

    /// The outcome of a call, as a message.
    pub(super) fn outcome(&mut self, at: BlockPath, outcome: &ToolOutcome) -> wire::Message {
        let path = format_args!("{at}.outcome");
        self.notes.withheld(path, &outcome.opaque, &[]);
        let result = &outcome.result;
        let medium = |notes: &mut Notes, path: Arguments<'_>, part: &OutcomePart| match part {
            OutcomePart::Document(document) => {
                let MediaSource::Text(text) = &document.source else {
                    return Medium::Unsupported;
                };
                notes.approximated(NoteEffect::Cosmetic, "document_as_text", path);
                Medium::Text(media_text::document(document, text))
            }
            OutcomePart::Image(image) => {
                let Some(data) = image_data(image) else {
                    return Medium::Unsupported;
                };
                notes.image_detail_lost(path, image);
                Medium::Part(Part::Image(data))
            }
            OutcomePart::Audio(_) | OutcomePart::Text(_) => Medium::Unsupported,
        };
        let (mut images, mut texts) = (Vec::new(), Vec::new());
        let mut is_moved = false;
        for part in results::parts(self.notes, at, result, Part::Text, medium) {
            match part {
                Part::Image(data) => {
                    is_moved |= !texts.is_empty();
                    images.push(data);
                }
                Part::Text(text) => texts.push(text),
            }
        }
        let path = format_args!("{at}.result.content");
        if is_moved {
            self.notes
                .approximated(NoteEffect::Cosmetic, "parts_rearranged", path);
        } else if texts.len() > 1 {
            self.notes
                .approximated(NoteEffect::Cosmetic, "texts_joined", path);
        }
        let mut content = texts.join("\n");
        if result.is_error {
            let path = format_args!("{at}.result");
            self.notes
                .approximated(NoteEffect::Cosmetic, "error_put_into_words", path);
            content = error_text(content);
        }
        wire::Message {
            role: "tool".to_owned(),
            content,
            images,
            tool_name: self.called.get(&outcome.call).cloned(),
            tool_call_id: Some(self.ids.wire_id(&outcome.call)),
            ..wire::Message::default()
        }
    }
}

/// The text of an error, which says that it is one.
fn error_text(text: String) -> String {
    if text.is_empty() {
        return "The tool failed and did not say why.".to_owned();
    }
    let says_so = text.trim_start().get(..5);
    if says_so.is_some_and(|start| start.eq_ignore_ascii_case("error")) {
        return text;
    }
    format!("Error: {text}")
}

/// The data of an image; `None` if Ollama does not take it.
fn image_data(image: &Image) -> Option<String> {
    match &image.source {
        MediaSource::Base64 { media_type, data } => IMAGE_TYPES
            .contains(&&**media_type)
            .then_some(data)
            .filter(|data| !data.is_empty())
            .map(|data| (**data).to_owned()),
        MediaSource::File { .. } | MediaSource::Text(_) | MediaSource::Url(_) => None,
    }
}

/// The types of images that the server decodes (`server/routes.go`, 2026-08).
const IMAGE_TYPES: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];
