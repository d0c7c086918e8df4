//! Wire types of message and result parts in requests.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::outcome::OutcomePart;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::problem::ProblemDetails;

/// One part of a message or of a result. Of a file, exactly one of `data` and `url` is given.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Part)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartGiven {
    /// What it is.
    #[serde(rename = "type")]
    kind: PartKind,
    /// The words of a `text`, or a document that is plain text.
    text: Option<String>,
    /// The media type of `data`, such as `image/png`.
    media_type: Option<String>,
    /// The bytes, in base64.
    data: Option<String>,
    /// Where the provider fetches it.
    url: Option<String>,
    /// The title or the name of a document.
    title: Option<String>,
    /// The MCP server of a `resource`.
    server: Option<String>,
    /// The URI of a `resource`.
    uri: Option<String>,
}

/// A part of a message, which may have to be read first.
#[derive(Debug)]
pub(crate) enum MessagePart {
    Block(Block),
    /// A resource of an MCP server.
    Resource {
        server: String,
        uri: String,
    },
}

/// What a part is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartKind {
    /// A sound.
    Audio,
    /// A document.
    Document,
    /// A picture.
    Image,
    /// A resource of an MCP server, which the gateway reads. Of messages alone.
    Resource,
    /// Words.
    Text,
}

impl PartGiven {
    /// Converts to a part of a message.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] that names the field.
    pub(crate) fn message_part(mut self, place: &str) -> Result<MessagePart, ProblemDetails> {
        if self.kind == PartKind::Resource {
            return match (self.server.take(), self.uri.take()) {
                (Some(server), Some(uri)) => Ok(MessagePart::Resource { server, uri }),
                (None, _) => Err(ProblemDetails::field(
                    format!("{place}/server"),
                    "name the MCP server of the resource",
                )),
                (Some(_), None) => Err(ProblemDetails::field(
                    format!("{place}/uri"),
                    "give the URI of the resource",
                )),
            };
        }
        Ok(MessagePart::Block(match self.outcome(place)? {
            OutcomePart::Audio(audio) => Content::Audio(audio).into(),
            OutcomePart::Document(document) => Content::Document(document).into(),
            OutcomePart::Image(image) => Content::Image(image).into(),
            OutcomePart::Text(text) => Block::text(text),
        }))
    }

    /// Converts to a part of a result.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] that names the field.
    pub(crate) fn outcome(mut self, place: &str) -> Result<OutcomePart, ProblemDetails> {
        let kind = self.kind;
        if kind == PartKind::Resource {
            let why = "a resource goes with a message; a result has its contents";
            return Err(ProblemDetails::field(format!("{place}/type"), why));
        }
        for (name, given) in [("server", &self.server), ("uri", &self.uri)] {
            if given.is_some() {
                let why = "only a `resource` has this";
                return Err(ProblemDetails::field(format!("{place}/{name}"), why));
            }
        }
        if kind != PartKind::Document && self.title.is_some() {
            let why = "only a document has a title";
            return Err(ProblemDetails::field(format!("{place}/title"), why));
        }
        if kind == PartKind::Text {
            let others = [
                ("data", &self.data),
                ("media_type", &self.media_type),
                ("url", &self.url),
            ];
            if let Some((name, _)) = others.iter().find(|(_, other)| other.is_some()) {
                let why = "a text has nothing but `text`";
                return Err(ProblemDetails::field(format!("{place}/{name}"), why));
            }
            return match self.text {
                Some(text) => Ok(OutcomePart::Text(text.into())),
                None => Err(ProblemDetails::field(
                    format!("{place}/text"),
                    "there is no text",
                )),
            };
        }
        let title = self.title.take().map(Arc::from);
        let source = self.source(place)?;
        Ok(match kind {
            PartKind::Audio => OutcomePart::Audio(Audio {
                source,
                transcript: None,
            }),
            PartKind::Document => OutcomePart::Document(Document {
                cite: false,
                context: None,
                source,
                title,
            }),
            PartKind::Image | PartKind::Resource | PartKind::Text => OutcomePart::Image(Image {
                detail: None,
                source,
            }),
        })
    }

    fn source(self, place: &str) -> Result<MediaSource, ProblemDetails> {
        match (self.data, self.media_type, self.text, self.url) {
            (Some(data), Some(media_type), None, None) => Ok(MediaSource::Base64 {
                data: data.into(),
                media_type: media_type.into(),
            }),
            (Some(_), None, None, None) => {
                let why = "say what the bytes are, such as `image/png`";
                Err(ProblemDetails::field(format!("{place}/media_type"), why))
            }
            (None, None, None, Some(url)) => Ok(MediaSource::Url(url.into())),
            (None, None, Some(text), None) if self.kind == PartKind::Document => {
                Ok(MediaSource::Text(text.into()))
            }
            _ => {
                let why = "give `data` with `media_type`, or `url`; of a document, also `text`";
                Err(ProblemDetails::field(format!("{place}/data"), why))
            }
        }
    }
}
