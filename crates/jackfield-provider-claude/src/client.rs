//! The chat model: asks Claude and tells the reply as it comes.

use std::fmt;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request};
use jackfield_dialect_claude::stream::{DecodeError, DecodeReply as _, Decoder};
use jackfield_dialect_claude::{DIALECT, error, request, wire};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::time::WallTime;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::transport::{Incoming, Transport};
use jackfield_provider_kit::{retry_after, status};
use tracing::field::{Empty, debug, display};
use tracing::{Instrument as _, Span};

use crate::config::{ClaudeConfig, InvalidConfig, VERSION};

/// Claude, or another server that speaks its language. Never retries; cancelled by dropping.
pub struct Claude {
    config: ClaudeConfig,
    headers: HeaderMap,
    transport: Transport,
}

impl Claude {
    /// Sets the model up; nothing is sent.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the key, a beta or the version cannot be sent.
    pub fn new(config: ClaudeConfig, transport: Transport) -> Result<Self, InvalidConfig> {
        if config.base_url.is_exposed() && config.key.is_some() {
            tracing::warn!(
                base_url = %config.base_url,
                "the key and every conversation are sent over the network without encryption"
            );
        }
        Ok(Self {
            headers: config.headers()?,
            config,
            transport,
        })
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        pieces: &mut Pieces<'_>,
    ) -> Result<ReplyEnd, ModelError> {
        if let (None, Some(why)) = (&self.config.key, &self.config.missing_key) {
            let kind = ModelFailureKind::Unauthenticated;
            return Err(ModelFailure::new(kind, Phase::BeforeSend, why).into());
        }
        let owner = self.state_owner(&request.model.model);
        let profile = self.config.profile_of(&request.model.model);
        let (body, notes) =
            request::to_wire(request, &owner, &profile, true).map_err(unsupported)?;
        let asked = self.http_request(&body, profile.api_version)?;
        let incoming = self.transport.send(asked).await?;
        let span = Span::current();
        if let Some(id) = incoming.header(REQUEST_ID) {
            span.record("anthropic.request_id", id);
        }
        let media_type = incoming.media_type();
        let mut end = match media_type.as_deref() {
            _ if !incoming.status().is_success() => return Err(self.refused(incoming).await),
            Some("text/event-stream") => {
                let decoder = Decoder::for_request(owner, request);
                told(incoming, decoder, pieces).await?
            }
            Some("application/json") => {
                let decoder = Decoder::for_request(owner, request);
                whole(incoming, decoder, pieces).await?
            }
            Some(_) | None => return Err(self.refused(incoming).await),
        };
        end.notes.splice(0..0, notes);
        record(&span, &end);
        Ok(end)
    }

    fn http_request(
        &self,
        body: &wire::Request,
        version: &'static str,
    ) -> Result<Request<Bytes>, ModelError> {
        let unsendable = |cause: &dyn fmt::Display| {
            let message = format!("the request cannot be written: {cause}");
            ModelFailure::new(ModelFailureKind::InvalidRequest, Phase::BeforeSend, message)
        };
        let body = serde_json::to_vec(body).map_err(|fault| unsendable(&fault))?;
        let mut asked = Request::post(self.url())
            .body(body.into())
            .map_err(|fault| unsendable(&fault))?;
        asked.headers_mut().clone_from(&self.headers);
        asked
            .headers_mut()
            .entry(VERSION)
            .or_insert(HeaderValue::from_static(version));
        Ok(asked)
    }

    /// What an answer means that is no reply.
    async fn refused(&self, incoming: Incoming) -> ModelError {
        let (status, media_type) = (incoming.status(), incoming.media_type());
        let headers = incoming.headers().clone();
        let body = incoming.into_error_body().await;
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let readable =
            !status.is_success() && serde_json::from_slice::<wire::ErrorBody>(&body).is_ok();
        let mut failure = if readable {
            error::classify(status.as_u16(), header, &body, Phase::BeforeFirstDelta)
        } else {
            status::unreadable(status, media_type.as_deref(), &body, &self.url())
        };
        retry_after::apply(&mut failure, &headers, now());
        if let Some(id) = header(REQUEST_ID) {
            failure.message.push_str(&format!(" [request {id}]"));
        }
        failure.into()
    }

    fn url(&self) -> String {
        self.config.base_url.join(PATH)
    }

    /// The failure as it may be told: with its phase, on one line, and without the key.
    fn tell(&self, mut error: ModelError, pushed: bool) -> ModelError {
        let failure = &mut error.failure;
        if pushed {
            failure.phase = Phase::MidReply;
        }
        if let Some(key) = &self.config.key {
            failure.message = key.redact(&failure.message);
        }
        if failure.message.contains(['\n', '\r']) {
            let words: Vec<&str> = failure.message.split_whitespace().collect();
            failure.message = words.join(" ");
        }
        let span = Span::current();
        span.record("error.type", debug(failure.kind));
        span.record("otel.status_code", "ERROR");
        error
    }
}

#[async_trait]
impl ChatModel for Claude {
    fn capabilities(&self) -> Capabilities {
        let profile = self.config.profile.unwrap_or_default();
        let mut can = Capabilities::NONE;
        can.documents = true;
        can.forced_tools = profile.forced_tools && self.config.tools;
        can.images = true;
        can.parallel_calls = self.config.tools;
        can.reasoning = true;
        can.streaming = true;
        can.structured_output = profile.structured_output;
        can.tools = self.config.tools;
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: DIALECT.into(),
            endpoint: self.config.base_url.endpoint().into(),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let model = &*request.model.model;
        let span = tracing::info_span!(
            "chat",
            anthropic.request_id = Empty,
            error.type = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = PROVIDER,
            gen_ai.request.model = model,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.response.id = Empty,
            gen_ai.response.model = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            otel.kind = "client",
            otel.name = format!("chat {model}"),
            otel.status_code = Empty,
            server.address = %self.config.base_url,
        );
        let mut pieces = Pieces {
            pushed: false,
            sink,
        };
        async {
            let end = self.ask(request, &mut pieces).await;
            end.map_err(|error| self.tell(error, pieces.pushed))
        }
        .instrument(span)
        .await
    }
}

impl fmt::Debug for Claude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claude")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Where the pieces go, and whether any went there.
struct Pieces<'a> {
    pushed: bool,
    sink: &'a mut dyn DeltaSink,
}

impl Pieces<'_> {
    async fn push(&mut self, deltas: Vec<Delta>) {
        for delta in deltas {
            self.pushed = true;
            self.sink.push(delta).await;
        }
    }
}

/// A reply that comes as events.
async fn told(
    incoming: Incoming,
    mut decoder: Decoder,
    pieces: &mut Pieces<'_>,
) -> Result<ReplyEnd, ModelError> {
    let mut events = incoming.into_events();
    while let Some(event) = events.next().await? {
        let deltas = decoder.push(event.name.as_deref(), &event.data);
        pieces.push(deltas.map_err(undecodable)?).await;
        if decoder.is_complete() {
            // A body that is read to its end leaves a connection that can be used again. The reply is
            // whole by now, whatever comes of that.
            let rest = async { while let Ok(Some(_)) = events.next().await {} };
            let _read = tokio::time::timeout(LINGER, rest).await.is_ok();
            break;
        }
    }
    Ok(decoder.finish().map_err(undecodable)?)
}

/// A reply that comes in one piece, from a server that does not stream.
async fn whole(
    incoming: Incoming,
    decoder: Decoder,
    pieces: &mut Pieces<'_>,
) -> Result<ReplyEnd, ModelError> {
    let body = incoming.into_body().await?;
    // Some servers tell errors with a status of success.
    if let Ok(error) = serde_json::from_slice::<wire::ErrorBody>(&body)
        && matches!(error.kind.as_str(), "" | "error")
    {
        let phase = Phase::BeforeFirstDelta;
        return Err(error::classify(500, |_| None, &body, phase).into());
    }
    let message: wire::Message = serde_json::from_slice(&body).map_err(|fault| {
        let message = format!("the provider's answer is not a message: {fault}");
        let kind = ModelFailureKind::ProtocolViolation;
        ModelFailure::new(kind, Phase::BeforeFirstDelta, message)
    })?;
    let (deltas, end) = decoder.whole(&message).map_err(undecodable)?;
    pieces.push(deltas).await;
    Ok(end)
}

fn record(span: &Span, end: &ReplyEnd) {
    span.record("gen_ai.response.finish_reasons", debug([&end.finish]));
    if let Some(id) = &end.upstream {
        span.record("gen_ai.response.id", display(id));
    }
    if let Some(model) = &end.model {
        span.record("gen_ai.response.model", display(model));
    }
    if let Some(usage) = &end.usage {
        span.record(
            "gen_ai.usage.cache_creation.input_tokens",
            usage.cache_write,
        );
        span.record("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
        span.record("gen_ai.usage.input_tokens", usage.input);
        span.record("gen_ai.usage.output_tokens", usage.output);
    }
}

fn unsupported(refusal: request::Unsupported) -> ModelError {
    let kind = ModelFailureKind::Unsupported;
    ModelFailure::new(kind, Phase::BeforeSend, refusal.to_string()).into()
}

/// The failure alone: the cause says the same, and may repeat what the server said.
fn undecodable(error: DecodeError) -> ModelFailure {
    error.failure()
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    WallTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// How long the end of a body is waited for, once the reply is whole.
const LINGER: Duration = Duration::from_millis(250);
const PATH: &str = "/v1/messages";
/// As the conventions for telemetry call it.
const PROVIDER: &str = "anthropic";
const REQUEST_ID: &str = "request-id";
