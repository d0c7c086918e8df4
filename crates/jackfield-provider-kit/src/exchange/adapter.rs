//! What an adapter has of its own.

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

use crate::secret::Secret;

/// What an adapter has of its own: its configuration, its headers and paths, and its dialect.
pub trait Adapter: Send + Sync {
    /// What reads the replies.
    type Decoder: DecodeReply;

    /// The media types of a stream that has one JSON document a line, such as `application/x-ndjson`; none
    /// where the provider streams server-sent events, which need no word. Each line is then an event without
    /// a name: see [`JsonLines`](crate::lines::JsonLines).
    const LINES: &'static [&'static str] = &[];

    /// The header in which the provider names a request, and the span's field that this goes into.
    const REQUEST_ID: (&'static str, &'static str);

    /// What to send for a request, and how its answer is read. Sends nothing itself.
    ///
    /// # Errors
    ///
    /// A failure of the phase `BeforeSend`: see [`unsupported`].
    fn ask(&self, request: &ModelRequest) -> Result<PreparedRequest<Self::Decoder>, ModelFailure>;

    /// What an answer means whose status is one of an error; nothing if it is not in the provider's
    /// language, and so perhaps not of the provider. The phase is `BeforeFirstDelta`.
    ///
    /// What `retry-after` and its like say is put in afterwards.
    fn classify(&self, answer: &ErrorAnswer<'_>) -> Option<ModelFailure>;

    /// The key, which is taken out of everything that is told.
    fn key(&self) -> Option<&Secret>;

    /// Why there is no key although one is needed, in a sentence.
    fn missing_key(&self) -> Option<&str>;

    /// The span of a call of this model: [`chat_span!`](crate::chat_span).
    fn span(&self, model: &str) -> Span;
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub struct PreparedRequest<D> {
    /// What reads the answer.
    pub decoder: D,
    /// What of the request got lost or changed.
    pub notes: Vec<Note>,
    /// The request on the wire.
    pub request: Request<Bytes>,
}

impl<D> PreparedRequest<D> {
    /// A body, with these headers, to this address.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` if that cannot be written.
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
            decoder,
            notes,
            request,
        })
    }
}

/// The failure for what a dialect cannot ask its provider.
#[must_use]
pub fn unsupported(refusal: &Unsupported) -> ModelFailure {
    let kind = ModelFailureKind::Unsupported;
    ModelFailure::new(kind, Phase::BeforeSend, refusal.to_string())
}

/// An answer that is no reply.
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
