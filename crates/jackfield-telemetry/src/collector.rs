//! A collector of OpenTelemetry data, by OTLP over HTTP with protobuf.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::uri::InvalidUri;
use http::{Method, Request, StatusCode, Uri};
use jackfield_engine::{Clock as _, SystemClock, chain};
use jackfield_provider_kit::retry_after::retry_after;
use jackfield_provider_kit::transport::Transport;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::mpsc;

use crate::names::span as names;
use crate::span_parts::attribute;

/// Where data goes, and whose it is.
#[derive(Clone, Debug)]
pub struct CollectorSettings {
    /// The address of the collector, to which `/v1/traces`, `/v1/metrics` and `/v1/logs` are added.
    pub endpoint: String,
    /// Headers of each request, such as one with a key.
    pub headers: HeaderMap,
    /// The name of this service.
    pub service: String,
    /// The version of the program.
    pub version: String,
}

/// A collector. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Collector(Arc<CollectorState>);

#[derive(Debug)]
struct CollectorState {
    logs: Uri,
    metrics: Uri,
    settings: CollectorSettings,
    traces: Uri,
    transport: Transport,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Signal {
    Logs,
    Metrics,
    Traces,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Logs => "logs",
            Self::Metrics => "metrics",
            Self::Traces => "traces",
        })
    }
}

impl Collector {
    /// A collector at an address.
    ///
    /// # Errors
    ///
    /// [`InvalidUri`] if the address is none.
    pub fn new(settings: CollectorSettings, transport: Transport) -> Result<Self, InvalidUri> {
        let base = settings.endpoint.trim_end_matches('/');
        let address = |signal: Signal| format!("{base}/v1/{signal}").parse();
        Ok(Self(Arc::new(CollectorState {
            logs: address(Signal::Logs)?,
            metrics: address(Signal::Metrics)?,
            traces: address(Signal::Traces)?,
            settings,
            transport,
        })))
    }

    /// The source of all data.
    pub(crate) fn resource(&self) -> Option<Resource> {
        let text = |value: &str| any_value::Value::StringValue(value.to_owned());
        let settings = &self.0.settings;
        Some(Resource {
            attributes: vec![
                attribute(names::SERVICE, text(&settings.service)),
                attribute(names::VERSION, text(&settings.version)),
            ],
            ..Resource::default()
        })
    }

    /// The program, as the maker of all data.
    pub(crate) fn scope(&self) -> Option<InstrumentationScope> {
        Some(InstrumentationScope {
            name: "jackfield".to_owned(),
            version: self.0.settings.version.clone(),
            ..InstrumentationScope::default()
        })
    }

    /// Sends a request with this many pieces of data, and repeats that as the protocol says (OTLP 1.9, "OTLP/HTTP
    /// Response"). What is not taken is dropped, with a warning.
    pub(crate) async fn send(
        &self,
        signal: Signal,
        message: &impl prost::Message,
        count: usize,
        attempts: u32,
    ) {
        let body = Bytes::from(message.encode_to_vec());
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=attempts {
            let wait = match self.post(signal, body.clone()).await {
                Ok(()) => return,
                Err(PostError::Final(why)) => {
                    tracing::warn!(%signal, why, count, "the collector refuses data");
                    return;
                }
                Err(PostError::Temporary { after, why }) => {
                    tracing::debug!(%signal, why, attempt, "data could not be sent");
                    after.unwrap_or(pause).min(MAX_PAUSE)
                }
            };
            if attempt < attempts {
                tokio::time::sleep(wait).await;
                pause *= 2;
            }
        }
        let endpoint = &self.0.settings.endpoint;
        tracing::warn!(%signal, count, endpoint, "data is dropped: the collector does not take it");
    }

    async fn post(&self, signal: Signal, body: Bytes) -> Result<(), PostError> {
        let state = &self.0;
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        let endpoint = match signal {
            Signal::Logs => &state.logs,
            Signal::Metrics => &state.metrics,
            Signal::Traces => &state.traces,
        };
        request.uri_mut().clone_from(endpoint);
        let headers = request.headers_mut();
        headers.clone_from(&state.settings.headers);
        let kind = HeaderValue::from_static("application/x-protobuf");
        headers.insert(CONTENT_TYPE, kind);
        let sent = tokio::time::timeout(TIME_LIMIT, state.transport.send(request)).await;
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
}

/// Sends what comes through a queue, in batches.
#[derive(Debug)]
pub(crate) struct Batches<T> {
    collector: Collector,
    queue: mpsc::Receiver<Vec<T>>,
    signal: Signal,
}

impl<T: Send> Batches<T> {
    /// Batches for a collector, and the sender of their queue, which has this much room.
    pub(crate) fn new(
        collector: Collector,
        signal: Signal,
        room: usize,
    ) -> (mpsc::Sender<Vec<T>>, Self) {
        let (sender, queue) = mpsc::channel(room);
        let batches = Self {
            collector,
            queue,
            signal,
        };
        (sender, batches)
    }

    /// Sends the requests that `request` makes of batches until `stop`, and then at once what is left.
    pub(crate) async fn run<M: prost::Message>(
        mut self,
        request: impl Fn(&Collector, Vec<T>) -> M + Send + Sync,
        stop: impl Future<Output = ()> + Send,
    ) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let first = tokio::select! {
                batch = self.queue.recv() => batch,
                () = &mut stop => None,
            };
            let Some(mut batch) = first else { break };
            let is_last = tokio::select! {
                () = self.fill(&mut batch) => false,
                () = &mut stop => true,
            };
            self.gather(&mut batch);
            let attempts = if is_last { 1 } else { MAX_ATTEMPTS };
            self.send(batch, &request, attempts).await;
            if is_last {
                break;
            }
        }
        let mut rest = Vec::new();
        self.gather(&mut rest);
        self.send(rest, &request, 1).await;
    }

    /// Waits until a batch is full, but not for long.
    async fn fill(&mut self, batch: &mut Vec<T>) {
        let full = async {
            while batch.len() < MAX_BATCH
                && let Some(more) = self.queue.recv().await
            {
                batch.extend(more);
            }
        };
        // What has arrived by then is in the batch.
        let _elapsed = tokio::time::timeout(GATHERING, full).await;
    }

    fn gather(&mut self, batch: &mut Vec<T>) {
        while batch.len() < MAX_BATCH
            && let Ok(more) = self.queue.try_recv()
        {
            batch.extend(more);
        }
    }

    async fn send<M: prost::Message>(
        &self,
        batch: Vec<T>,
        request: &(impl Fn(&Collector, Vec<T>) -> M + Sync),
        attempts: u32,
    ) {
        let count = batch.len();
        if count > 0 {
            let message = request(&self.collector, batch);
            self.collector
                .send(self.signal, &message, count, attempts)
                .await;
        }
    }
}

/// Why data was not taken.
enum PostError {
    Final(String),
    Temporary {
        /// When the collector wants to be asked again.
        after: Option<Duration>,
        why: String,
    },
}

/// How long data is gathered for one request.
const GATHERING: Duration = Duration::from_secs(1);
/// The size from which on a batch is full.
const MAX_BATCH: usize = 512;
/// How often a request is tried.
const MAX_ATTEMPTS: u32 = 5;
/// The pause after the first attempt; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// The time limit of an attempt.
const TIME_LIMIT: Duration = Duration::from_secs(10);
