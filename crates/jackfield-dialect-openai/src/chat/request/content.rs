//! Maps the content of user, system and developer messages: blocks as parts.

use jackfield_dialect_kit::media_text;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, Content, OpaqueBlock, Text};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::Role;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use serde_json::{Map, Value};

use super::Unsupported;
use super::conversation::RequestWriter;
use crate::chat::wire;
use crate::profile::Profile;
use crate::settings;

/// The image types that the vendor takes (2026-11); compatible servers generally take no others.
pub(super) const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

impl RequestWriter<'_> {
    /// A block of a user or system message; `None` if it is left out, which has been noted.
    pub(super) fn part(
        &mut self,
        at: BlockPath,
        block: &Block,
    ) -> Result<Option<wire::Part>, Unsupported> {
        self.notes.withheld(at, &block.opaque, &[]);
        Ok(match &block.content {
            Content::Audio(audio) => {
                let part = audio_part(audio, self.profile).filter(|_| at.role == Role::User);
                let reason =
                    "this server takes sounds only as WAV or MP3 from a user, or not at all";
                let part = part.ok_or_else(|| at.unsupported(reason))?;
                if audio.transcript.is_some() {
                    let path = format_args!("{at}.transcript");
                    self.notes
                        .dropped(NoteEffect::Cosmetic, "transcript_not_sent", path);
                }
                Some(part)
            }
            Content::Document(document) => self.user_document(at, document)?,
            Content::Image(image) => {
                let part = image_part(image, self.profile).filter(|_| at.role == Role::User);
                let reason = "this server takes pictures only as JPEG, PNG, GIF or WebP from a user, or not at all";
                Some(part.ok_or_else(|| at.unsupported(reason))?)
            }
            Content::Opaque(opaque) => self.opaque(at, opaque),
            Content::Refusal(text) => {
                self.notes
                    .approximated(NoteEffect::Cosmetic, "refusal_as_text", at);
                (!text.trim().is_empty()).then(|| text_part(text))
            }
            Content::Text(text) => self.text(at, text),
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

    pub(super) fn text(&mut self, at: BlockPath, text: &Text) -> Option<wire::Part> {
        if self.notes.is_blank(at, &text.text) {
            return None;
        }
        self.notes.annotations_lost(at, text);
        Some(text_part(&text.text))
    }

    /// An opaque part of this server, or the fallback text for another server's.
    pub(super) fn opaque(&mut self, at: BlockPath, opaque: &OpaqueBlock) -> Option<wire::Part> {
        let mine = opaque.owner == *self.owner && at.role != Role::System;
        if let Some(fields) = part_fields(opaque).filter(|_| mine) {
            self.notes.fallback_lost(at, opaque);
            return Some(wire::Part::Other(fields.clone()));
        }
        self.notes.fallback(at, opaque).map(text_part)
    }

    fn user_document(
        &mut self,
        at: BlockPath,
        document: &Document,
    ) -> Result<Option<wire::Part>, Unsupported> {
        if let MediaSource::Text(text) = &document.source {
            if self.notes.is_blank(at, text) {
                return Ok(None);
            }
            self.notes
                .approximated(NoteEffect::Cosmetic, "document_as_text", at);
            return Ok(Some(text_part(&media_text::document(document, text))));
        }
        let part = file_part(document, self.profile, self.owner).filter(|_| at.role == Role::User);
        let reason =
            "this server takes documents only inline or uploaded to it, from a user, or not at all";
        let part = part.ok_or_else(|| at.unsupported(reason))?;
        for (field, set, effect) in [
            ("cite", document.cite, NoteEffect::Quality),
            ("context", document.context.is_some(), NoteEffect::Quality),
            (
                "title",
                document.title.is_some() && matches!(document.source, MediaSource::File { .. }),
                NoteEffect::Cosmetic,
            ),
        ] {
            if set {
                let path = format_args!("{at}.{field}");
                self.notes.dropped(effect, "document_field_not_sent", path);
            }
        }
        Ok(Some(part))
    }
}

/// Audio, if the server takes it.
pub(super) fn audio_part(audio: &Audio, profile: &Profile) -> Option<wire::Part> {
    let MediaSource::Base64 { media_type, data } = &audio.source else {
        return None;
    };
    let format = match &**media_type {
        "audio/wav" | "audio/wave" | "audio/x-wav" => "wav",
        "audio/mp3" | "audio/mpeg" => "mp3",
        _ => return None,
    };
    profile.audio.then(|| wire::Part::InputAudio {
        input_audio: wire::Audio {
            data: (**data).to_owned(),
            format: format.to_owned(),
        },
        prompt_cache_breakpoint: None,
    })
}

/// An image, if the server takes it.
pub(super) fn image_part(image: &Image, profile: &Profile) -> Option<wire::Part> {
    let url = match &image.source {
        MediaSource::Base64 { media_type, data } => IMAGE_TYPES
            .contains(&&**media_type)
            .then(|| data_url(media_type, data)),
        // A URL of another scheme might name a local file of the server.
        MediaSource::Url(url) => (profile.image_addresses
            && (url.starts_with("https://") || url.starts_with("http://")))
        .then(|| (**url).to_owned()),
        MediaSource::File { .. } | MediaSource::Text(_) => None,
    };
    let url = url.filter(|_| profile.images)?;
    let detail = image.detail.map(settings::detail);
    Some(wire::Part::ImageUrl {
        image_url: wire::ImageUrl {
            url,
            detail: detail.map(str::to_owned),
        },
        prompt_cache_breakpoint: None,
    })
}

/// A document, if the server takes it.
pub(super) fn file_part(
    document: &Document,
    profile: &Profile,
    recipient: &StateOwner,
) -> Option<wire::Part> {
    let file = match &document.source {
        MediaSource::Base64 { media_type, data } => {
            let title = document.title.as_deref();
            wire::File {
                file_data: Some(data_url(media_type, data)),
                file_id: None,
                filename: Some(title.unwrap_or_else(|| file_name(media_type)).to_owned()),
            }
        }
        // A file belongs to an account, regardless of the model and of the vendor's dialect.
        MediaSource::File { id, owner }
            if owner.dialect.starts_with("openai-") && owner.endpoint == recipient.endpoint =>
        {
            wire::File {
                file_id: Some((**id).to_owned()),
                ..wire::File::default()
            }
        }
        MediaSource::File { .. } | MediaSource::Text(_) | MediaSource::Url(_) => return None,
    };
    profile.files.then_some(wire::Part::File {
        file,
        prompt_cache_breakpoint: None,
    })
}

/// The fields of an opaque part; `None` if it is not an object of a part's form.
pub(super) fn part_fields(opaque: &OpaqueBlock) -> Option<&Map<String, Value>> {
    let fields = opaque.json.as_object()?;
    let kind = fields.get("type")?.as_str()?;
    (kind == &*opaque.kind && !KNOWN_PARTS.contains(&kind)).then_some(fields)
}

/// The part types that the mappers handle, which are therefore never opaque.
pub(super) const KNOWN_PARTS: [&str; 5] = ["file", "image_url", "input_audio", "refusal", "text"];

/// The file name for a document without a title.
pub(super) fn file_name(media_type: &str) -> &'static str {
    match media_type {
        "application/pdf" => "document.pdf",
        _ => "document",
    }
}

/// A text part without further fields.
pub(super) fn text_part(text: &str) -> wire::Part {
    wire::Part::Text {
        text: text.to_owned(),
        prompt_cache_breakpoint: None,
    }
}

/// The parts as one string if all are plain text, as some servers take only that.
pub(super) fn into_content(parts: Vec<wire::Part>) -> wire::Content {
    let plain = parts.iter().all(|part| {
        matches!(
            part,
            wire::Part::Text {
                prompt_cache_breakpoint: None,
                ..
            }
        )
    });
    if plain {
        wire::Content::Text(joined(&parts))
    } else {
        wire::Content::Parts(parts)
    }
}

/// The text of the parts, separated by empty lines.
pub(super) fn joined(parts: &[wire::Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            wire::Part::Text { text, .. } => Some(text.as_str()),
            wire::Part::File { .. }
            | wire::Part::ImageUrl { .. }
            | wire::Part::InputAudio { .. }
            | wire::Part::Other(_)
            | wire::Part::Refusal { .. } => None,
        })
        .collect();
    texts.join("\n\n")
}

/// A text description of a media block; `None` for other blocks.
pub(crate) fn in_words(content: &Content) -> Option<String> {
    match content {
        Content::Audio(audio) => Some(media_text::audio(audio)),
        Content::Document(document) => Some(match &document.source {
            MediaSource::Text(text) => media_text::document(document, text),
            MediaSource::Base64 { .. } | MediaSource::File { .. } | MediaSource::Url(_) => {
                media_text::source("document", &document.source)
            }
        }),
        Content::Image(image) => Some(media_text::source("image", &image.source)),
        Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => None,
    }
}

fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}
