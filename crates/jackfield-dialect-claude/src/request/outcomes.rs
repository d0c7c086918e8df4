//! Maps outcomes of tool calls to `tool_result` blocks, and the sources of media.

use std::fmt::Arguments;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_dialect_kit::outgoing::results::{self, Medium};
use jackfield_domain::media::MediaSource;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};

use super::blocks::{document_block, image_block};
use super::conversation::{RequestWriter, plain};
use super::tool_search;
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
            content: self.content(at, outcome),
            is_error: outcome.result.is_error.then_some(true),
            toolset_name: known.or_else(|| echoed.map(|(_, name)| name.to_owned())),
            cache_control: None,
        })
    }

    fn content(&mut self, at: BlockPath, outcome: &ToolOutcome) -> Option<wire::Content> {
        let references = self.references.get(&outcome.call);
        let Some(names) = references.filter(|names| !names.is_empty()) else {
            return self.result(at, &outcome.result);
        };
        // Nothing is lost: the vendor puts the definitions of these tools there.
        Some(tool_search::references(names))
    }

    fn result(&mut self, at: BlockPath, result: &ToolResult) -> Option<wire::Content> {
        let owner = self.owner;
        let medium = |notes: &mut Notes, path: Arguments<'_>, part: &OutcomePart| match part {
            OutcomePart::Audio(_) | OutcomePart::Text(_) => Medium::Unsupported,
            OutcomePart::Document(document) => match document_source(&document.source, owner) {
                Some(source) => Medium::Part(document_block(document, source)),
                None => Medium::Unsupported,
            },
            OutcomePart::Image(image) => match image_source(&image.source, owner) {
                Some(source) => {
                    notes.image_detail_lost(path, image);
                    Medium::Part(image_block(source))
                }
                None => Medium::Unsupported,
            },
        };
        let mut parts = results::parts(self.notes, at, result, |text| plain(&text), medium);
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
}

/// The source of an image, if Claude accepts it.
pub(super) fn image_source(source: &MediaSource, owner: &StateOwner) -> Option<wire::Source> {
    match source {
        MediaSource::Base64 { media_type, data } => IMAGE_TYPES
            .contains(&&**media_type)
            .then(|| base64(media_type, data)),
        MediaSource::Text(_) => None,
        MediaSource::File { .. } | MediaSource::Url(_) => remote_source(source, owner),
    }
}

/// The source of a document, if Claude accepts it.
pub(super) fn document_source(source: &MediaSource, owner: &StateOwner) -> Option<wire::Source> {
    match source {
        MediaSource::Base64 { media_type, data } => {
            (**media_type == *"application/pdf").then(|| base64(media_type, data))
        }
        MediaSource::Text(text) => Some(wire::Source::Text {
            media_type: "text/plain".to_owned(),
            data: (**text).to_owned(),
        }),
        MediaSource::File { .. } | MediaSource::Url(_) => remote_source(source, owner),
    }
}

fn remote_source(source: &MediaSource, recipient: &StateOwner) -> Option<wire::Source> {
    match source {
        // A file belongs to an account, regardless of the model.
        MediaSource::File { id, owner } => {
            let is_there =
                owner.dialect == recipient.dialect && owner.endpoint == recipient.endpoint;
            is_there.then(|| wire::Source::File {
                file_id: (**id).to_owned(),
            })
        }
        MediaSource::Url(url) => Some(wire::Source::Url {
            url: (**url).to_owned(),
        }),
        MediaSource::Base64 { .. } | MediaSource::Text(_) => None,
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
