//! One exchange with a provider: sends the request, and reads the response as a reply or a failure.
//!
//! All adapters share this code. An adapter implements [`Adapter`] for its own parts, and its
//! [`ChatModel`](jackfield_ports::chat_model::ChatModel) then calls [`reply`]:
//!
//! 1. The request is mapped, and refused if its notes are worse than it allows.
//! 2. It is sent, with a token if the adapter has [tokens](crate::tokens), and while the lease of its call lasts: once,
//!    and once more if the server refuses a field by name that the adapter [added](PreparedRequest::added) by itself.
//! 3. Status and media type decide whether the response is a stream, a whole reply, an error, or not the provider's.
//! 4. Deltas go to the sink as they arrive; a whole reply yields the same deltas.
//! 5. A failure has a kind, a phase and the server's retry delay, with a message on one line and without the key.

mod adapter;
mod ask;
mod bearer;
mod refusal;
mod reply_events;
mod request_id;
mod span;
mod surrogates;

pub use self::adapter::{Adapter, ErrorAnswer, PreparedRequest, unsupported};
#[doc(hidden)]
pub use self::span::tracing;
pub use self::span::{fail as record_failure, record as record_end};
pub use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};

use std::sync::Arc;
use std::time::Duration;

use ::tracing::{Instrument as _, Span};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderValue, Request};
use jackfield_dialect_kit::strict;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::trace::TraceContext;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::delta_sink::DeltaSink;
use tokio::sync::Notify;

use self::bearer::Bearer;
use self::refusal::Refusal;
use self::reply_events::ReplyEvents;
use crate::base_url::BaseUrl;
use crate::frames::FrameDecoder;
use crate::key_header::{secret_of, takes_no_keys};
use crate::secret::Secret;
use crate::transport::{Incoming, Transport};

/// Sends a request to the provider and emits its reply. Makes one request and never retries; one that is refused for a
/// field that the adapter [added](PreparedRequest::added) is sent once more without it. Dropping the future cancels the
/// request by closing the connection.
///
/// # Errors
///
/// [`ModelError`], classified, and without the adapter's key.
pub async fn reply<A: Adapter>(
    adapter: &A,
    transport: &Transport,
    request: &ModelRequest,
    call: &CallContext,
    sink: &mut dyn DeltaSink,
) -> Result<ReplyEnd, ModelError> {
    let span = adapter.span(&request.model.model);
    let own = sink.credential().map(secret_of);
    let mut reply_sink = ReplySink {
        pushed: false,
        request_id: None,
        secret: own.clone(),
        sink,
    };
    async {
        let with = (call, own.as_ref());
        let end = exchange(adapter, transport, request, with, &mut reply_sink).await;
        end.map_err(|error| {
            complete_error(
                adapter,
                error,
                reply_sink.pushed,
                reply_sink.request_id.take(),
                reply_sink.secret.as_ref(),
            )
        })
    }
    .instrument(span)
    .await
}

/// Reads a document of the provider that is not a reply, such as its list of models. Makes one request and never
/// retries. Dropping the future cancels the request by closing the connection.
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
    let mut token = None;
    let read = fetch(adapter, transport, url, headers, &mut token).await;
    read.map_err(|error| complete_error(adapter, error, false, None, token.as_ref()))
}

async fn fetch<A: Adapter>(
    adapter: &A,
    transport: &Transport,
    url: &str,
    mut headers: HeaderMap,
    token: &mut Option<Secret>,
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
    let bearer = Bearer::fetch(adapter, &mut headers).await?;
    *token = bearer.secret();
    *request.headers_mut() = headers;
    let incoming = transport.send(request).await?;
    let is_json = incoming.media_type().as_deref() == Some("application/json");
    if !(incoming.status().is_success() && is_json) {
        let refused = Refusal::read(incoming).await.into_error(adapter, url);
        return Err(bearer.renew_after(refused).await);
    }
    incoming.decompress().await?.into_body().await
}

/// The failure for a document of an unexpected form.
#[must_use]
pub fn unreadable(what: &str, why: &dyn std::fmt::Display) -> ModelFailure {
    let kind = ModelFailureKind::ProtocolViolation;
    let message = format!("{what} cannot be read: {why}");
    ModelFailure::new(kind, Phase::BeforeFirstDelta, message)
}

/// Warns if the key and all conversations can be read in transit. Adapters call this once, at setup.
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
    (call, own): (&CallContext, Option<&Secret>),
    reply_sink: &mut ReplySink<'_>,
) -> Result<ReplyEnd, ModelError> {
    let own = match own {
        Some(key) => Some((key, adapter.key_header().ok_or_else(takes_no_keys)?)),
        None => None,
    };
    if own.is_none()
        && let (None, Some(why)) = (adapter.key(), adapter.missing_key())
    {
        let kind = ModelFailureKind::Unauthenticated;
        return Err(ModelFailure::new(kind, Phase::BeforeSend, why).into());
    }
    let known = adapter.refused_fields();
    let known = known.map(|refused| refused.of(&request.model.model));
    let known = known.unwrap_or_default();
    let mut prepared = adapter.prepare_without(request, &known)?;
    strict::check(&prepared.notes, request.strict)?;
    if let Some((key, header)) = own {
        header.apply(prepared.request.headers_mut(), key)?;
    }
    if let Some(context) = reply_sink.sink.trace() {
        add_trace(prepared.request.headers_mut(), context);
    }
    let bearer = Bearer::fetch(adapter, prepared.request.headers_mut()).await?;
    if let Some(token) = bearer.secret() {
        reply_sink.secret = Some(token);
    }
    let url = prepared.request.uri().to_string();
    let asked = ask::ask(adapter, transport, (request, prepared), call, reply_sink).await?;
    let ask::Asked {
        decoder,
        incoming,
        notes,
    } = match asked {
        Ok(asked) => asked,
        Err(refusal) => {
            let refused = refusal.into_error(adapter, &url);
            return Err(bearer.renew_after(refused).await);
        }
    };
    let span = Span::current();
    let mut incoming = incoming.decompress().await?;
    let arrivals = incoming.arrivals();
    let mut end = match reply_form(adapter, &mut incoming).await? {
        ReplyForm::Events => {
            let events = ReplyEvents::events(incoming.into_events());
            read_stream(events, &arrivals, decoder, reply_sink).await?
        }
        ReplyForm::Frames(frames) => {
            let events = ReplyEvents::frames(incoming.into_frames(frames));
            read_stream(events, &arrivals, decoder, reply_sink).await?
        }
        ReplyForm::Lines => {
            let events = ReplyEvents::lines(incoming.into_lines());
            read_stream(events, &arrivals, decoder, reply_sink).await?
        }
        ReplyForm::Whole => read_body(incoming, decoder, reply_sink).await?,
        ReplyForm::Other => {
            let refusal = Refusal::read(incoming).await;
            return Err(refusal.into_error(adapter, &url));
        }
    };
    end.notes.splice(0..0, notes);
    span::record(&span, &end);
    Ok(end)
}

/// Adds a trace context, unless the headers have one (W3C Trace Context, recommendation of 2021-11-23).
fn add_trace(headers: &mut HeaderMap, context: &TraceContext) {
    let value = |text: &str| HeaderValue::from_str(text).ok();
    let Some(parent) = value(&context.parent).filter(|_| !headers.contains_key(PARENT)) else {
        return;
    };
    headers.insert(PARENT, parent);
    if let Some(state) = context.state.as_deref().and_then(value) {
        headers.insert("tracestate", state);
    }
}

/// The form of a body.
enum ReplyForm {
    /// Server-sent events.
    Events,
    /// Frames, with their decoder.
    Frames(Box<dyn FrameDecoder>),
    /// One document per line.
    Lines,
    /// Not a response of a provider.
    Other,
    /// One document.
    Whole,
}

/// The form of a successful response's body: one that the adapter declares, or one that is common.
async fn reply_form<A: Adapter>(
    adapter: &A,
    incoming: &mut Incoming,
) -> Result<ReplyForm, ModelError> {
    let media_type = incoming.media_type();
    let media_type = media_type.as_deref();
    if let Some(frames) = media_type.and_then(|media_type| adapter.frames(media_type)) {
        return Ok(ReplyForm::Frames(frames));
    }
    match media_type {
        Some(media_type) if A::LINES.contains(&media_type) => Ok(ReplyForm::Lines),
        Some(_) | None => detect_form(media_type, incoming).await,
    }
}

/// The form of a successful response's body in a common form. Servers and proxies send a wrong media type, or none, so the first
/// bytes decide.
async fn detect_form(
    media_type: Option<&str>,
    incoming: &mut Incoming,
) -> Result<ReplyForm, ModelError> {
    let declared = match media_type {
        Some("text/event-stream") => ReplyForm::Events,
        Some("application/json") => ReplyForm::Whole,
        Some("application/octet-stream" | "text/plain") | None => ReplyForm::Other,
        Some(_) => return Ok(ReplyForm::Other),
    };
    let start = incoming.peek_start(MAX_FIELD).await?;
    let is_field = |field: &&str| start.starts_with(field.as_bytes());
    Ok(match start.first() {
        Some(b'{' | b'[') => ReplyForm::Whole,
        Some(_) if FIELDS.iter().any(is_field) => ReplyForm::Events,
        Some(_) | None => declared,
    })
}

/// The header with the trace and the span of the caller.
const PARENT: &str = "traceparent";
/// The prefixes of a stream of events: a field, or a comment.
const FIELDS: [&str; 5] = [":", "data:", "event:", "id:", "retry:"];
/// The length of the longest prefix, in bytes.
const MAX_FIELD: usize = 6;

/// Reads a reply that comes as events.
async fn read_stream(
    mut events: ReplyEvents,
    arrivals: &Notify,
    mut decoder: impl DecodeReply,
    reply_sink: &mut ReplySink<'_>,
) -> Result<ReplyEnd, ModelError> {
    let mut reported_tokens = 0;
    loop {
        let event = tokio::select! {
            biased;
            event = events.next() => event,
            () = arrivals.notified() => {
                reply_sink.sink.alive().await;
                continue;
            }
        };
        let event = match event {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(error) => {
                // As long as nothing was shown, the loop may ask again.
                if reply_sink.pushed {
                    reply_sink.push(decoder.rest().unwrap_or_default()).await;
                }
                return Err(error);
            }
        };
        // Its own bytes are reported by what it says.
        let _told = arrivals.notified().now_or_never();
        let deltas = decoder.push(event.name.as_deref(), &event.data);
        drop(event);
        let (deltas, broken) = match deltas {
            Ok(deltas) => (deltas, None),
            Err(error) => (Vec::new(), Some(undecodable(error))),
        };
        if deltas.is_empty() {
            reply_sink.sink.alive().await;
        }
        reply_sink.push(deltas).await;
        // Usage at the end is reported with the end.
        if !decoder.is_complete()
            && let Some(usage) = decoder.usage()
            && usage.total() != reported_tokens
        {
            reported_tokens = usage.total();
            reply_sink.sink.count(usage).await;
        }
        if let Some(failure) = broken {
            return Err(failure.into());
        }
        if decoder.is_complete() {
            // A body that is read to its end leaves a reusable connection. The reply is complete by now, so errors
            // are ignored.
            let rest = async { while let Ok(Some(_)) = events.next().await {} };
            let _read = tokio::time::timeout(LINGER, rest).await.is_ok();
            break;
        }
    }
    let rest = decoder.rest().map_err(undecodable)?;
    let end = decoder.finish();
    if end.is_ok() || reply_sink.pushed {
        reply_sink.push(rest).await;
    }
    Ok(end.map_err(undecodable)?)
}

/// Reads a reply that comes as one document, from a server that does not stream.
async fn read_body(
    incoming: Incoming,
    decoder: impl DecodeReply,
    reply_sink: &mut ReplySink<'_>,
) -> Result<ReplyEnd, ModelError> {
    let mut body = incoming.into_body().await?;
    if surrogates::may_contain(&body)
        && let Some(whole) = surrogates::repair(&body)
    {
        body = whole.into();
    }
    let (deltas, end) = decoder.read_whole(&body).map_err(undecodable)?;
    reply_sink.push(deltas).await;
    Ok(end)
}

/// The failure in its final form: with its phase and the provider's request id, on one line, and without the key.
fn complete_error(
    adapter: &impl Adapter,
    mut error: ModelError,
    pushed: bool,
    request_id: Option<Arc<str>>,
    secret: Option<&Secret>,
) -> ModelError {
    let failure = &mut error.failure;
    failure.request_id = failure.request_id.take().or(request_id);
    if let Some(id) = &failure.request_id {
        failure.message.push_str(&format!(" [request {id}]"));
    }
    if pushed {
        failure.phase = Phase::MidReply;
    }
    for key in adapter.key().into_iter().chain(secret) {
        failure.message = key.redact(&failure.message);
    }
    if failure.message.contains(['\n', '\r']) {
        let words: Vec<&str> = failure.message.split_whitespace().collect();
        failure.message = words.join(" ");
    }
    span::fail(&Span::current(), failure.kind);
    error
}

/// Only the failure: its cause says the same, and may quote the server.
fn undecodable(error: DecodeError) -> ModelFailure {
    error.failure()
}

/// The sink with a flag whether any delta was pushed, the provider's request id, and the secret that was sent in place of
/// the adapter's key.
struct ReplySink<'a> {
    pushed: bool,
    request_id: Option<Arc<str>>,
    secret: Option<Secret>,
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

/// How long to wait for the end of the body after the reply is complete.
const LINGER: Duration = Duration::from_millis(250);
