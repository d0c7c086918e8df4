//! One exchange with a provider: the request goes out, and what comes back is told as a reply or a failure.
//!
//! This is what every adapter does in the same way. An adapter says what it has of its own through
//! [`Adapter`], and its [`ChatModel`](jackfield_ports::chat_model::ChatModel) is then [`reply`]:
//!
//! 1. The request is mapped, and refused where its notes are worse than it allows.
//! 2. It is sent, once.
//! 3. Status and media type tell whether the answer is a stream, a whole reply, an error, or
//!    something that is not the provider's at all.
//! 4. Pieces go to the sink as they come; a whole reply is told in the same pieces.
//! 5. A failure has its kind, its phase and the server's own delay, on one line, without the key.

mod adapter;
mod refusal;
mod reply_events;
mod request_id;
mod span;
mod surrogates;

pub use self::adapter::{Adapter, ErrorAnswer, PreparedRequest, unsupported};
#[doc(hidden)]
pub use self::span::tracing;
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};

use std::sync::Arc;
use std::time::Duration;

use ::tracing::{Instrument as _, Span};
use bytes::Bytes;
use http::{HeaderMap, Request};
use jackfield_dialect_kit::strict;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::delta_sink::DeltaSink;

use self::reply_events::ReplyEvents;
use crate::base_url::BaseUrl;
use crate::secret::Secret;
use crate::transport::{Incoming, Transport};

/// Asks the provider and tells its reply. Makes one request and never retries; cancelled by dropping,
/// which closes the connection.
///
/// # Errors
///
/// [`ModelError`], classified, and without the adapter's key.
pub async fn reply<A: Adapter>(
    adapter: &A,
    transport: &Transport,
    request: &ModelRequest,
    sink: &mut dyn DeltaSink,
) -> Result<ReplyEnd, ModelError> {
    let span = adapter.span(&request.model.model);
    let mut pieces = ReplySink {
        pushed: false,
        request_id: None,
        sink,
    };
    async {
        let end = exchange(adapter, transport, request, &mut pieces).await;
        end.map_err(|error| told(adapter, error, pieces.pushed, pieces.request_id.take()))
    }
    .instrument(span)
    .await
}

/// Reads a document of the provider's that is no reply, such as its list of models. Makes one request and
/// never retries; cancelled by dropping, which closes the connection.
///
/// # Errors
///
/// [`ModelError`], classified, and without the adapter's key.
pub async fn read<A: Adapter>(
    adapter: &A,
    transport: &Transport,
    url: &str,
    headers: HeaderMap,
) -> Result<Bytes, ModelError> {
    let read = document(adapter, transport, url, headers).await;
    read.map_err(|error| told(adapter, error, false, None))
}

async fn document<A: Adapter>(
    adapter: &A,
    transport: &Transport,
    url: &str,
    headers: HeaderMap,
) -> Result<Bytes, ModelError> {
    if let (None, Some(why)) = (adapter.key(), adapter.missing_key()) {
        let kind = ModelFailureKind::Unauthenticated;
        return Err(ModelFailure::new(kind, Phase::BeforeSend, why).into());
    }
    let request = Request::get(url).body(Bytes::new()).map_err(|error| {
        let message = format!("the request cannot be written: {error}");
        ModelFailure::new(ModelFailureKind::InvalidRequest, Phase::BeforeSend, message)
    });
    let mut request = request?;
    *request.headers_mut() = headers;
    let incoming = transport.send(request).await?;
    let is_json = incoming.media_type().as_deref() == Some("application/json");
    if !(incoming.status().is_success() && is_json) {
        return Err(refusal::refused(adapter, incoming, url).await);
    }
    incoming.decoded().await?.into_body().await
}

/// The failure of a document that is not what was asked for.
#[must_use]
pub fn unreadable(what: &str, why: &dyn std::fmt::Display) -> ModelFailure {
    let kind = ModelFailureKind::ProtocolViolation;
    let message = format!("{what} cannot be read: {why}");
    ModelFailure::new(kind, Phase::BeforeFirstDelta, message)
}

/// Warns where a key and every conversation can be read on their way. For adapters, when they are set up.
pub fn warn_if_exposed(base_url: &BaseUrl, key: Option<&Secret>) {
    if base_url.is_exposed() && key.is_some() {
        ::tracing::warn!(
            %base_url,
            "the key and every conversation are sent over the network without encryption"
        );
    }
}

async fn exchange<A: Adapter>(
    adapter: &A,
    transport: &Transport,
    request: &ModelRequest,
    pieces: &mut ReplySink<'_>,
) -> Result<ReplyEnd, ModelError> {
    if let (None, Some(why)) = (adapter.key(), adapter.missing_key()) {
        let kind = ModelFailureKind::Unauthenticated;
        return Err(ModelFailure::new(kind, Phase::BeforeSend, why).into());
    }
    let PreparedRequest {
        mut decoder,
        notes,
        request: asked,
    } = adapter.ask(request)?;
    strict::check(&notes, request.strict)?;
    let url = asked.uri().to_string();
    // What is over when a reply begins stands apart, so that its room goes with it: a stream may take minutes.
    let incoming = Box::pin(transport.send(asked)).await?;
    let span = Span::current();
    pieces.request_id = request_id::of(incoming.headers(), A::REQUEST_ID.0);
    if let Some(id) = &pieces.request_id {
        span.record(A::REQUEST_ID.1, &**id);
        pieces.sink.request_id(id).await;
    }
    if !incoming.status().is_success() {
        return Err(Box::pin(refusal::refused(adapter, incoming, &url)).await);
    }
    let mut incoming = Box::pin(incoming.decoded()).await?;
    let media_type = incoming.media_type();
    let mut end = match media_type.as_deref() {
        Some(media_type) if A::LINES.contains(&media_type) => {
            let mut lines = ReplyEvents::lines(incoming.into_lines());
            stream(&mut lines, &mut decoder, pieces).await?;
            decoder.finish().map_err(undecodable)?
        }
        media_type @ (Some(_) | None) => match form(media_type, &mut incoming).await? {
            ReplyForm::Events => {
                let mut events = ReplyEvents::events(incoming.into_events());
                stream(&mut events, &mut decoder, pieces).await?;
                decoder.finish().map_err(undecodable)?
            }
            ReplyForm::Whole => Box::pin(whole(incoming, decoder, pieces)).await?,
            ReplyForm::Other => {
                return Err(Box::pin(refusal::refused(adapter, incoming, &url)).await);
            }
        },
    };
    end.notes.splice(0..0, notes);
    span::record(&span, &end);
    Ok(end)
}

/// What a body is.
enum ReplyForm {
    /// Server-sent events.
    Events,
    /// Nothing that a provider answers.
    Other,
    /// A document.
    Whole,
}

/// What the body of a successful answer is. Servers and what stands before them name the wrong type, or none, so
/// the first bytes count.
async fn form(media_type: Option<&str>, incoming: &mut Incoming) -> Result<ReplyForm, ModelError> {
    let named = match media_type {
        Some("text/event-stream") => ReplyForm::Events,
        Some("application/json") => ReplyForm::Whole,
        Some("application/octet-stream" | "text/plain") | None => ReplyForm::Other,
        Some(_) => return Ok(ReplyForm::Other),
    };
    let begins = incoming.begins(LONGEST_FIELD).await?;
    let is_field = |field: &&str| begins.starts_with(field.as_bytes());
    Ok(match begins.first() {
        Some(b'{' | b'[') => ReplyForm::Whole,
        Some(_) if FIELDS.iter().any(is_field) => ReplyForm::Events,
        Some(_) | None => named,
    })
}

/// What a stream of events begins with: a field, or a comment.
const FIELDS: [&str; 5] = [":", "data:", "event:", "id:", "retry:"];
/// How many bytes the longest of them has.
const LONGEST_FIELD: usize = 6;

/// A reply that comes as events.
async fn stream(
    events: &mut ReplyEvents,
    decoder: &mut impl DecodeReply,
    pieces: &mut ReplySink<'_>,
) -> Result<(), ModelError> {
    let mut known = 0;
    while let Some(event) = events.next().await? {
        let deltas = decoder.push(event.name.as_deref(), &event.data);
        drop(event);
        let (deltas, broken) = match deltas {
            Ok(deltas) => (deltas, None),
            Err(error) => (Vec::new(), Some(undecodable(error))),
        };
        pieces.push(deltas).await;
        // What comes with the end is told with the end.
        if !decoder.is_complete()
            && let Some(usage) = decoder.counted()
            && usage.total() != known
        {
            known = usage.total();
            pieces.sink.count(usage).await;
        }
        if let Some(failure) = broken {
            return Err(failure.into());
        }
        if decoder.is_complete() {
            // A body that is read to its end leaves a connection that can be used again. The reply is
            // whole by now, whatever comes of that.
            let rest = async { while let Ok(Some(_)) = events.next().await {} };
            let _read = tokio::time::timeout(LINGER, rest).await.is_ok();
            break;
        }
    }
    Ok(())
}

/// A reply that comes in one piece, from a server that does not stream.
async fn whole(
    incoming: Incoming,
    decoder: impl DecodeReply,
    pieces: &mut ReplySink<'_>,
) -> Result<ReplyEnd, ModelError> {
    let mut body = incoming.into_body().await?;
    if surrogates::may_have_some(&body)
        && let Some(whole) = surrogates::whole(&body)
    {
        body = whole.into();
    }
    let (deltas, end) = decoder.read_whole(&body).map_err(undecodable)?;
    pieces.push(deltas).await;
    Ok(end)
}

/// The failure as it may be told: with its phase and the provider's id of the request, on one line, and without the
/// key.
fn told(
    adapter: &impl Adapter,
    mut error: ModelError,
    pushed: bool,
    request_id: Option<Arc<str>>,
) -> ModelError {
    let failure = &mut error.failure;
    failure.request_id = failure.request_id.take().or(request_id);
    if let Some(id) = &failure.request_id {
        failure.message.push_str(&format!(" [request {id}]"));
    }
    if pushed {
        failure.phase = Phase::MidReply;
    }
    if let Some(key) = adapter.key() {
        failure.message = key.redact(&failure.message);
    }
    if failure.message.contains(['\n', '\r']) {
        let words: Vec<&str> = failure.message.split_whitespace().collect();
        failure.message = words.join(" ");
    }
    span::fail(&Span::current(), failure.kind);
    error
}

/// The failure alone: the cause says the same, and may repeat what the server said.
fn undecodable(error: DecodeError) -> ModelFailure {
    error.failure()
}

/// Where the pieces go, whether any went there, and the provider's id of the request.
struct ReplySink<'a> {
    pushed: bool,
    request_id: Option<Arc<str>>,
    sink: &'a mut dyn DeltaSink,
}

impl ReplySink<'_> {
    async fn push(&mut self, deltas: Vec<Delta>) {
        for delta in deltas {
            self.pushed = true;
            self.sink.push(delta).await;
        }
    }
}

/// How long the end of a body is waited for, once the reply is whole.
const LINGER: Duration = Duration::from_millis(250);
