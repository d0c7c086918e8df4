//! Maps images and documents to parts.

use std::fmt::Display;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::media::{Document, Image, ImageDetail, MediaSource};
use jackfield_domain::message::Role;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;

use super::Unsupported;
use super::conversation::RequestWriter;
use crate::chat;
use crate::profile::Profile;
use crate::responses::{self, wire};
use crate::settings;

/// The image types that the vendor accepts (`openai` 3.54.0, and its guide to vision, 2026-11).
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The file name for a document without one, which the vendor requires for inline data.
const UNNAMED: &str = "document";

impl RequestWriter<'_> {
    /// An image of a user message.
    pub(super) fn image(
        &mut self,
        at: BlockPath,
        image: &Image,
    ) -> Result<wire::Part, Unsupported> {
        let part = picture(image, self.profile, self.owner).filter(|_| at.role != Role::System);
        let Some(part) = part else {
            let reason = "this server takes no such picture: JPEG, PNG, GIF or WebP, from a user";
            return Err(at.unsupported(reason));
        };
        note_detail(at, image, self.notes);
        Ok(part)
    }

    /// A document of a user message; `None` if it is empty.
    pub(super) fn document(
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
            return Ok(Some(wire::Part::InputText {
                text: full_document_text(document, text),
                prompt_cache_breakpoint: None,
            }));
        }
        let part = file(document, self.profile, self.owner).filter(|_| at.role != Role::System);
        let Some(part) = part else {
            return Err(at.unsupported("this server takes no such document"));
        };
        note_document(at, document, self.notes);
        Ok(Some(part))
    }
}

/// An image, if the server accepts it.
pub(super) fn picture(
    image: &Image,
    profile: &Profile,
    recipient: &StateOwner,
) -> Option<wire::Part> {
    if !profile.images {
        return None;
    }
    let (file_id, image_url) = match &image.source {
        MediaSource::Base64 { media_type, data } => (
            None,
            IMAGE_TYPES
                .contains(&&**media_type)
                .then(|| data_url(media_type, data)),
        ),
        MediaSource::File { .. } => (uploaded_id(&image.source, recipient), None),
        MediaSource::Text(_) => (None, None),
        MediaSource::Url(url) => (
            None,
            (profile.image_addresses && is_on_the_web(url)).then(|| (**url).to_owned()),
        ),
    };
    if file_id.is_none() && image_url.is_none() {
        return None;
    }
    let detail = settings::detail(image.detail.unwrap_or(ImageDetail::Auto));
    Some(wire::Part::InputImage {
        detail: Some(detail.to_owned()),
        file_id,
        image_url,
        prompt_cache_breakpoint: None,
    })
}

/// A document as a file, if the server accepts it.
pub(super) fn file(
    document: &Document,
    profile: &Profile,
    recipient: &StateOwner,
) -> Option<wire::Part> {
    if !profile.files {
        return None;
    }
    let title = document.title.as_deref().map(str::to_owned);
    let (mut file_data, mut file_id, mut file_url) = (None, None, None);
    let mut filename = title;
    match &document.source {
        MediaSource::Base64 { media_type, data } => {
            file_data = Some(data_url(media_type, data));
            filename = Some(filename.unwrap_or_else(|| UNNAMED.to_owned()));
        }
        MediaSource::File { .. } => file_id = Some(uploaded_id(&document.source, recipient)?),
        MediaSource::Text(_) => return None,
        MediaSource::Url(url) => {
            file_url = is_on_the_web(url).then(|| (**url).to_owned());
            file_url.as_ref()?;
        }
    }
    Some(wire::Part::InputFile {
        detail: None,
        file_data,
        file_id,
        file_url,
        filename,
        prompt_cache_breakpoint: None,
    })
}

/// Notes the properties of a document that a file cannot express.
pub(super) fn note_document(path: impl Display, document: &Document, notes: &mut Notes) {
    if document.cite {
        notes.approximated(NoteEffect::Quality, "document_cite", &path);
    }
    if document.context.is_some() {
        notes.approximated(NoteEffect::Quality, "document_context", &path);
    }
    if document.title.is_none() && matches!(document.source, MediaSource::Base64 { .. }) {
        notes.approximated(NoteEffect::Cosmetic, "document_named", path);
    }
}

/// Notes that `auto`, the default, is not sent as such.
pub(super) fn note_detail(path: impl Display, image: &Image, notes: &mut Notes) {
    if image.detail == Some(ImageDetail::Auto) {
        let path = format_args!("{path}.detail");
        notes.dropped(NoteEffect::Cosmetic, "image_detail", path);
    }
}

fn uploaded_id(source: &MediaSource, recipient: &StateOwner) -> Option<String> {
    match source {
        // A file belongs to an account, regardless of the model and of the vendor's dialect.
        MediaSource::File { id, owner } => {
            let known = [responses::DIALECT, chat::DIALECT].contains(&&*owner.dialect)
                && owner.endpoint == recipient.endpoint;
            known.then(|| (**id).to_owned())
        }
        MediaSource::Base64 { .. } | MediaSource::Text(_) | MediaSource::Url(_) => None,
    }
}

/// Title, context and text of a document.
pub(super) fn full_document_text(document: &Document, text: &str) -> String {
    let around = [document.title.as_deref(), document.context.as_deref()];
    let mut parts: Vec<&str> = around.into_iter().flatten().collect();
    parts.retain(|part| !part.trim().is_empty());
    parts.push(text);
    parts.join("\n\n")
}

fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// Whether it is a web URL; with other schemes some servers read local files.
fn is_on_the_web(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
    })
}
