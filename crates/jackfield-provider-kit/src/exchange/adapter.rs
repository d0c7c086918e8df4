//! The parts of an exchange that are specific to an adapter.

use std::fmt::Display;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use jackfield_dialect_kit::decode::DecodeReply;
use jackfield_dialect_kit::outgoing::Unsupported;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::note::Note;
use jackfield_domain::request::ModelRequest;
use serde::Serialize;
use tracing::Span;

use crate::frames::FrameDecoder;
use crate::key_header::KeyHeader;
use crate::refused_fields::RefusedFields;
use crate::secret::Secret;
use crate::tokens::Tokens;

/// The specific parts of an adapter: its configuration, its headers and paths, and its dialect.
pub trait Adapter: Send + Sync {
    /// The decoder of replies.
    type Decoder: DecodeReply;

    /// The media types of a stream with one JSON document per line, such as `application/x-ndjson`; empty if the
    /// provider streams server-sent events, which need no declaration. Each line is then an event without a name:
    /// see [`JsonLines`](crate::lines::JsonLines).
    const LINES: &'static [&'static str] = &[];

    /// The provider's response header with the request id, and the field of the span for it.
    const REQUEST_ID: (&'static str, &'static str);

    /// Prepares the request to send, and the decoder for its response. Sends nothing itself.
    ///
    /// # Errors
    ///
    /// A failure with the phase `BeforeSend`: see [`unsupported`].
    fn prepare(
        &self,
        request: &ModelRequest,
    ) -> Result<PreparedRequest<Self::Decoder>, ModelFailure>;

    /// The same without these fields, which are among those that it [adds by itself](PreparedRequest::added), as the
    /// server refuses them. Sent again, it has the headers of the first request.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare).
    fn prepare_without(
        &self,
        request: &ModelRequest,
        _refused: &[&'static str],
    ) -> Result<PreparedRequest<Self::Decoder>, ModelFailure> {
        self.prepare(request)
    }

    /// The fields that the server has refused so far; `None` if it adds none by itself.
    fn refused_fields(&self) -> Option<&RefusedFields> {
        None
    }

    /// The failure for a response with an error status; `None` if it is not in the provider's dialect, and so
    /// perhaps from a proxy. The phase is `BeforeFirstDelta`.
    ///
    /// The `retry-after` headers are applied afterwards.
    fn classify(&self, answer: &ErrorAnswer<'_>) -> Option<ModelFailure>;

    /// The decoder of a stream of this media type, if the provider streams frames: binary, and neither server-sent events
    /// nor lines. See [`Frames`](crate::frames::Frames).
    fn frames(&self, _media_type: &str) -> Option<Box<dyn FrameDecoder>> {
        None
    }

    /// The key, which is removed from all messages.
    fn key(&self) -> Option<&Secret>;

    /// How the server takes the key of a person in place of [`key`](Self::key); `None` if it cannot.
    fn key_header(&self) -> Option<KeyHeader> {
        None
    }

    /// The reason why a required key is missing, in a sentence.
    fn missing_key(&self) -> Option<&str>;

    /// The tokens that prove who asks, if they are fetched and renewed: each request has one as `authorization: Bearer`,
    /// in place of a key in the [prepared request](Self::prepare).
    fn tokens(&self) -> Option<&Tokens> {
        None
    }

    /// The span of a call of this model: [`chat_span!`](crate::chat_span).
    fn span(&self, model: &str) -> Span;
}

/// A prepared request.
#[derive(Debug)]
pub struct PreparedRequest<D> {
    /// The fields that the adapter has added by itself, and whose absence changes nothing that was asked for. If the
    /// server refuses one by name, the request is sent once more [without](Adapter::prepare_without) it.
    pub added: Vec<&'static str>,
    /// The decoder of the response.
    pub decoder: D,
    /// The losses and changes of the request.
    pub notes: Vec<Note>,
    /// The request on the wire.
    pub request: Request<Bytes>,
}

impl<D> PreparedRequest<D> {
    /// A POST request to this URL with this body and these headers.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` if it cannot be built.
    pub fn post(
        url: &str,
        headers: HeaderMap,
        (body, notes): (impl Serialize, Vec<Note>),
        decoder: D,
    ) -> Result<Self, ModelFailure> {
        let body = serde_json::to_vec(&body).map_err(unwritable)?;
        let mut request = Request::post(url)
            .body(Bytes::from(body))
            .map_err(unwritable)?;
        *request.headers_mut() = headers;
        Ok(Self {
            added: Vec::new(),
            decoder,
            notes,
            request,
        })
    }

    /// The same with these [added](Self::added) fields.
    #[must_use]
    pub fn with_added(mut self, fields: Vec<&'static str>) -> Self {
        self.added = fields;
        self
    }
}

/// The failure for a request that the dialect cannot express.
#[must_use]
pub fn unsupported(refusal: &Unsupported) -> ModelFailure {
    let kind = ModelFailureKind::Unsupported;
    ModelFailure::new(kind, Phase::BeforeSend, refusal.to_string())
}

/// A response that is not a reply.
#[derive(Clone, Copy, Debug)]
pub struct ErrorAnswer<'a> {
    /// Its body, or the beginning of it.
    pub body: &'a [u8],
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its status.
    pub status: StatusCode,
}

impl<'a> ErrorAnswer<'a> {
    /// The first header of this name, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn unwritable(cause: impl Display) -> ModelFailure {
    let message = format!("the request cannot be written: {cause}");
    ModelFailure::new(ModelFailureKind::InvalidRequest, Phase::BeforeSend, message)
}
