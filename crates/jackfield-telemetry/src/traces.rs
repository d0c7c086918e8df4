//! Sends the traces of turns to a collector, by OTLP over HTTP with protobuf.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Request, StatusCode, Uri};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_engine::{Clock as _, EndedTurn, SystemClock, TurnObserver, chain};
use jackfield_provider_kit::retry_after::retry_after;
use jackfield_provider_kit::transport::Transport;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use tokio::sync::mpsc;

use crate::names::span as names;
use crate::spans::{self, attribute};

/// Where traces go.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// The address of the collector, with the path, which is mostly `/v1/traces`.
    pub endpoint: Uri,
    /// Headers of each request, such as one with a key.
    pub headers: HeaderMap,
    /// The name of this service.
    pub service: String,
    /// The version of the program.
    pub version: String,
}

/// Makes spans of the turns that have ended, for an exporter. A turn that does not fit into the queue is dropped, with a
/// warning.
#[derive(Debug)]
pub struct Traces(mpsc::Sender<Vec<Span>>);

/// Sends what [`Traces`] made.
#[derive(Debug)]
pub struct TraceExporter {
    queue: mpsc::Receiver<Vec<Span>>,
    settings: TraceSettings,
    transport: Transport,
}

impl Traces {
    /// An observer of turns, and the exporter that sends their spans.
    #[must_use]
    pub fn new(settings: TraceSettings, transport: Transport) -> (Self, TraceExporter) {
        let (sender, queue) = mpsc::channel(MAX_QUEUED);
        let exporter = TraceExporter {
            queue,
            settings,
            transport,
        };
        (Self(sender), exporter)
    }
}

impl TurnObserver for Traces {
    fn turn_ended(&self, turn: &EndedTurn) {
        let spans = spans::of_turn(&turn.session, &turn.steps);
        if !spans.is_empty() && self.0.try_send(spans).is_err() {
            tracing::warn!(session = %turn.session, "the trace of a turn is dropped: the collector is too slow");
        }
    }

    fn exports_traces(&self) -> bool {
        true
    }

    fn record_stored(&self, _record: &SpendingRecord) {}
}

impl TraceExporter {
    /// Sends traces until `stop`, and then at once what is left.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let first = tokio::select! {
                spans = self.queue.recv() => spans,
                () = &mut stop => None,
            };
            let Some(mut spans) = first else { break };
            let gathered = tokio::time::sleep(GATHERING);
            tokio::select! {
                () = gathered => {}
                () = &mut stop => {
                    self.gather(&mut spans);
                    self.send(spans, 1).await;
                    break;
                }
            }
            self.gather(&mut spans);
            self.send(spans, MAX_ATTEMPTS).await;
        }
        let mut rest = Vec::new();
        self.gather(&mut rest);
        self.send(rest, 1).await;
    }

    fn gather(&mut self, spans: &mut Vec<Span>) {
        while spans.len() < MAX_BATCH
            && let Ok(more) = self.queue.try_recv()
        {
            spans.extend(more);
        }
    }

    /// Sends these spans, and repeats that as the protocol says (OTLP 1.9, "OTLP/HTTP Response").
    async fn send(&self, spans: Vec<Span>, attempts: u32) {
        let count = spans.len();
        if spans.is_empty() {
            return;
        }
        let body = Bytes::from(self.request(spans).encode_to_vec());
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=attempts {
            let wait = match self.post(body.clone()).await {
                Ok(()) => return,
                Err(PostError::Final(why)) => {
                    tracing::warn!(why, spans = count, "the collector refuses traces");
                    return;
                }
                Err(PostError::Temporary { after, why }) => {
                    tracing::debug!(why, attempt, "traces could not be sent");
                    after.unwrap_or(pause).min(MAX_PAUSE)
                }
            };
            if attempt < attempts {
                tokio::time::sleep(wait).await;
                pause *= 2;
            }
        }
        tracing::warn!(spans = count, endpoint = %self.settings.endpoint, "traces are dropped: the collector does not take them");
    }

    async fn post(&self, body: Bytes) -> Result<(), PostError> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.settings.endpoint.clone();
        let headers = request.headers_mut();
        headers.clone_from(&self.settings.headers);
        let kind = HeaderValue::from_static("application/x-protobuf");
        headers.insert(CONTENT_TYPE, kind);
        let sent = tokio::time::timeout(TIME_LIMIT, self.transport.send(request)).await;
        let temporary = |why: String, after| PostError::Temporary { after, why };
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(temporary(chain(&error), None)),
            Err(_) => return Err(temporary("no answer in time".to_owned(), None)),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let is_temporary = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        if is_temporary {
            let now = SystemClock::default().now().wall;
            let after = retry_after(response.headers(), now);
            Err(temporary(status.to_string(), after))
        } else {
            Err(PostError::Final(status.to_string()))
        }
    }

    fn request(&self, spans: Vec<Span>) -> ExportTraceServiceRequest {
        let text = |value: &str| any_value::Value::StringValue(value.to_owned());
        let TraceSettings {
            service, version, ..
        } = &self.settings;
        let resource = Resource {
            attributes: vec![
                attribute(names::SERVICE, text(service)),
                attribute(names::VERSION, text(version)),
            ],
            ..Resource::default()
        };
        let scope = InstrumentationScope {
            name: "jackfield".to_owned(),
            version: version.clone(),
            ..InstrumentationScope::default()
        };
        ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource),
                scope_spans: vec![ScopeSpans {
                    scope: Some(scope),
                    spans,
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        }
    }
}

/// Why traces were not taken.
enum PostError {
    Final(String),
    Temporary {
        /// When the collector wants to be asked again.
        after: Option<Duration>,
        why: String,
    },
}

/// How long spans are gathered for one request.
const GATHERING: Duration = Duration::from_secs(1);
/// The number of spans from which on a request is full.
const MAX_BATCH: usize = 512;
/// The maximum number of turns that wait.
const MAX_QUEUED: usize = 1024;
/// How often a request is tried.
const MAX_ATTEMPTS: u32 = 5;
/// The pause after the first attempt; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// The time limit of an attempt.
const TIME_LIMIT: Duration = Duration::from_secs(10);
