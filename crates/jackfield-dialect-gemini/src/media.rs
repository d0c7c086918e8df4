//! Media: the types that Gemini takes, and their parts (Gemini API documentation, image, document and audio
//! understanding, 2026-11).

use std::sync::Arc;

use jackfield_dialect_kit::data_url;
use jackfield_domain::media::MediaSource;
use jackfield_domain::opaque::StateOwner;

use crate::wire;

/// The kind of a medium.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MediaKind {
    Audio,
    Document,
    Image,
}

impl MediaKind {
    /// The kind of a media type; `None` for one that is none of the domain's, such as a video.
    pub(crate) fn of(media_type: &str) -> Option<Self> {
        match media_type.split('/').next() {
            Some("audio") => Some(Self::Audio),
            Some("image") => Some(Self::Image),
            Some("text") => Some(Self::Document),
            Some(_) | None => (media_type == PDF).then_some(Self::Document),
        }
    }

    fn takes(self, media_type: &str) -> bool {
        match self {
            Self::Audio => AUDIO_TYPES.contains(&media_type),
            Self::Document => media_type == PDF || media_type.starts_with("text/"),
            Self::Image => IMAGE_TYPES.contains(&media_type),
        }
    }

    /// The media type of bytes at an address, which the vendor wants to know: by the end of its path, or else the
    /// usual one of its kind.
    fn guess(self, address: &str) -> &'static str {
        let path = address.split(['?', '#']).next().unwrap_or_default();
        let end = path
            .rsplit('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let mut known = ENDINGS.iter().filter(|(_, kind)| self.takes(kind));
        let found = known.find(|(ending, _)| *ending == end);
        found.map_or(
            match self {
                Self::Audio => "audio/mpeg",
                Self::Document => PDF,
                Self::Image => "image/jpeg",
            },
            |(_, kind)| kind,
        )
    }
}

/// The part for a medium, if Gemini takes it; a text is none.
pub(crate) fn part(
    source: &MediaSource,
    kind: MediaKind,
    recipient: &StateOwner,
) -> Option<wire::Part> {
    match source {
        MediaSource::Base64 { media_type, data } => kind.takes(media_type).then(|| wire::Part {
            inline_data: Some(wire::Blob {
                mime_type: (**media_type).to_owned(),
                data: (**data).to_owned(),
            }),
            ..wire::Part::default()
        }),
        // A file belongs to an account, regardless of the model.
        MediaSource::File { id, owner } => {
            let is_there =
                owner.dialect == recipient.dialect && owner.endpoint == recipient.endpoint;
            is_there.then(|| at_address(id, kind))
        }
        MediaSource::Text(_) => None,
        MediaSource::Url(url) => Some(at_address(url, kind)),
    }
}

fn at_address(address: &Arc<str>, kind: MediaKind) -> wire::Part {
    wire::Part {
        file_data: Some(wire::FileData {
            mime_type: Some(kind.guess(address).to_owned()),
            file_uri: (**address).to_owned(),
        }),
        ..wire::Part::default()
    }
}

/// The medium of a part, and its kind; `None` if the domain has no such kind. `is_own` says whether the vendor's files
/// are those of `owner`.
pub(crate) fn source(part: &wire::Part, owner: &StateOwner) -> Option<(MediaKind, MediaSource)> {
    if let Some(blob) = &part.inline_data {
        let media_type = data_url::media_type(&blob.mime_type);
        let source = MediaSource::Base64 {
            data: standard_base64(&blob.data).into(),
            media_type: media_type.as_str().into(),
        };
        return Some((MediaKind::of(&media_type)?, source));
    }
    let file = part.file_data.as_ref()?;
    let uri: Arc<str> = file.file_uri.as_str().into();
    let named = file.mime_type.as_deref().map(data_url::media_type);
    let kind = match &named {
        Some(named) => MediaKind::of(named)?,
        None => by_ending(&uri).unwrap_or(MediaKind::Image),
    };
    let source = if is_web_address(&uri) {
        MediaSource::Url(uri)
    } else {
        MediaSource::File {
            id: uri,
            owner: owner.clone(),
        }
    };
    Some((kind, source))
}

/// Base64 in its standard alphabet: the Python SDK writes that of URLs, and the vendor reads both.
pub(crate) fn standard_base64(data: &str) -> String {
    if !data.contains(['-', '_']) {
        return data.to_owned();
    }
    let mut standard = data.replace('-', "+").replace('_', "/");
    while !standard.len().is_multiple_of(4) {
        standard.push('=');
    }
    standard
}

fn by_ending(address: &str) -> Option<MediaKind> {
    let path = address.split(['?', '#']).next()?;
    let end = path.rsplit('.').next()?.to_ascii_lowercase();
    let (_, kind) = ENDINGS.iter().find(|(ending, _)| *ending == end)?;
    MediaKind::of(kind)
}

/// Whether an address is one that anyone may read, and not that of an uploaded file.
fn is_web_address(uri: &str) -> bool {
    let is_web = uri.starts_with("https://") || uri.starts_with("http://");
    is_web && !uri.contains(UPLOADED)
}

/// What the addresses of uploaded files contain (Gemini API, Files).
const UPLOADED: &str = "generativelanguage.googleapis.com/v1beta/files/";
const PDF: &str = "application/pdf";
const AUDIO_TYPES: [&str; 9] = [
    "audio/aac",
    "audio/aiff",
    "audio/flac",
    "audio/mp3",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/webm",
    "audio/x-wav",
];
const IMAGE_TYPES: [&str; 5] = [
    "image/heic",
    "image/heif",
    "image/jpeg",
    "image/png",
    "image/webp",
];
/// Media types by the ends of paths.
const ENDINGS: [(&str, &str); 14] = [
    ("aac", "audio/aac"),
    ("csv", "text/csv"),
    ("flac", "audio/flac"),
    ("heic", "image/heic"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
];
