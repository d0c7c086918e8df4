//! Maps outcomes of tool calls to `tool_result` blocks, and the sources of media.

use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::{json_text, media_text};
use jackfield_domain::media::{Image, ImageDetail, MediaSource};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use serde_json::Value;

use super::blocks::document_block;
use super::conversation::{RequestWriter, plain};
use crate::reply::state;
use crate::wire;

impl RequestWriter<'_> {
    pub(super) fn outcome(&mut self, at: BlockPath, outcome: &ToolOutcome) -> wire::Block {
        let echoed = state::find(&outcome.opaque, self.owner, state::TOOLSET)
            .and_then(|(place, json)| Some((place, json.as_str()?)))
            .filter(|_| !self.toolsets.contains_key(&outcome.call));
        let sent = echoed.map(|(place, _)| place);
        let path = format_args!("{at}.outcome");
        self.notes.withheld(path, &outcome.opaque, sent.as_slice());
        let known = self.toolsets.get(&outcome.call).cloned();
        wire::Block::ToolResult(wire::ToolResult {
            tool_use_id: self.ids.wire_id(&outcome.call),
            content: self.result(at, &outcome.result),
            is_error: outcome.result.is_error.then_some(true),
            toolset_name: known.or_else(|| echoed.map(|(_, name)| name.to_owned())),
            cache_control: None,
        })
    }

    fn result(&mut self, at: BlockPath, result: &ToolResult) -> Option<wire::Content> {
        let mut parts = Vec::with_capacity(result.content.len());
        for (k, part) in result.content.iter().enumerate() {
            parts.extend(self.part(at, k, part));
        }
        if let Some(json) = &result.structured {
            if parts.is_empty() {
                let path = format_args!("{at}.result");
                self.notes
                    .approximated(NoteEffect::Cosmetic, "structured_as_text", path);
                parts.push(plain(&json.to_string()));
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
        let has_text = parts
            .iter()
            .any(|part| matches!(part, wire::Block::Text { .. }));
        if result.is_error && !has_text {
            let path = format_args!("{at}.result.content");
            self.notes
                .approximated(NoteEffect::Cosmetic, "error_put_into_words", path);
            parts.push(plain("The tool failed and did not say why."));
        }
        match parts.as_mut_slice() {
            [] => None,
            [wire::Block::Text { text, .. }] => Some(wire::Content::Text(std::mem::take(text))),
            _ => Some(wire::Content::Blocks(parts)),
        }
    }

    fn part(&mut self, at: BlockPath, k: usize, part: &OutcomePart) -> Option<wire::Block> {
        let path = format_args!("{at}.result.content[{k}]");
        let words = match part {
            OutcomePart::Text(text) if text.trim().is_empty() => {
                self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                return None;
            }
            OutcomePart::Text(text) => return Some(plain(text)),
            OutcomePart::Audio(audio) => media_text::audio(audio),
            OutcomePart::Document(document) => {
                if matches!(&document.source, MediaSource::Text(text) if text.trim().is_empty()) {
                    self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                    return None;
                }
                match self.document_source(&document.source) {
                    Some(source) => return Some(document_block(document, source)),
                    None => media_text::source("document", &document.source),
                }
            }
            OutcomePart::Image(image) => match self.image_source(&image.source) {
                Some(source) => {
                    if let Some(effect) = detail_effect(image) {
                        let path = format_args!("{at}.result.content[{k}].detail");
                        self.notes.dropped(effect, "image_detail", path);
                    }
                    return Some(wire::Block::Image {
                        source,
                        cache_control: None,
                    });
                }
                None => media_text::source("image", &image.source),
            },
        };
        self.notes
            .approximated(NoteEffect::Meaning, "media_as_text", path);
        Some(plain(&words))
    }

    pub(super) fn image_detail(&mut self, at: BlockPath, image: &Image) {
        if let Some(effect) = detail_effect(image) {
            let path = format_args!("{at}.detail");
            self.notes.dropped(effect, "image_detail", path);
        }
    }

    /// The source of an image, if Claude accepts it.
    pub(super) fn image_source(&self, source: &MediaSource) -> Option<wire::Source> {
        match source {
            MediaSource::Base64 { media_type, data } => IMAGE_TYPES
                .contains(&&**media_type)
                .then(|| base64(media_type, data)),
            MediaSource::Text(_) => None,
            MediaSource::File { .. } | MediaSource::Url(_) => self.remote_source(source),
        }
    }

    /// The source of a document, if Claude accepts it.
    pub(super) fn document_source(&self, source: &MediaSource) -> Option<wire::Source> {
        match source {
            MediaSource::Base64 { media_type, data } => {
                (**media_type == *"application/pdf").then(|| base64(media_type, data))
            }
            MediaSource::Text(text) => Some(wire::Source::Text {
                media_type: "text/plain".to_owned(),
                data: (**text).to_owned(),
            }),
            MediaSource::File { .. } | MediaSource::Url(_) => self.remote_source(source),
        }
    }

    fn remote_source(&self, source: &MediaSource) -> Option<wire::Source> {
        match source {
            // A file belongs to an account, regardless of the model.
            MediaSource::File { id, owner } => (owner.dialect == self.owner.dialect
                && owner.endpoint == self.owner.endpoint)
                .then(|| wire::Source::File {
                    file_id: (**id).to_owned(),
                }),
            MediaSource::Url(url) => Some(wire::Source::Url {
                url: (**url).to_owned(),
            }),
            MediaSource::Base64 { .. } | MediaSource::Text(_) => None,
        }
    }
}

/// The image types that Claude accepts (Claude Messages API, 2026-10-21).
pub(crate) const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

fn base64(media_type: &str, data: &str) -> wire::Source {
    wire::Source::Base64 {
        media_type: media_type.to_owned(),
        data: data.to_owned(),
    }
}

/// The effect of omitting the level of detail.
fn detail_effect(image: &Image) -> Option<NoteEffect> {
    match image.detail? {
        ImageDetail::Auto => Some(NoteEffect::Cosmetic),
        ImageDetail::Low => Some(NoteEffect::Cost),
        ImageDetail::High | ImageDetail::Original => Some(NoteEffect::Quality),
    }
}

/// Whether a text part of the result equals this JSON value.
fn has_json_text(result: &ToolResult, json: &Value) -> bool {
    let mut texts = result.content.iter().filter_map(OutcomePart::as_text);
    texts.any(|text| json_text::matches(text, json))
}
