//! Sends the traces of turns and requests to a collector.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::MonoTime;
use jackfield_engine::{
    Clock as _, EndedTurn, McpObserver, McpRequest, McpSession, PassedRequest, SystemClock,
    TurnObserver,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::collector::{Batches, Collector, Signal};
use crate::span_parts::nanos;
use crate::{mcp_spans, request_spans, spans};

/// Makes spans of the turns and requests that have ended, for an exporter. What does not fit into the queue is dropped,
/// with a warning a minute at most.
#[derive(Debug)]
pub struct Traces {
    clock: SystemClock,
    drops: Mutex<SpanDrops>,
    queue: mpsc::Sender<Vec<Span>>,
}

/// The spans that were dropped since the last warning.
#[derive(Debug, Default)]
pub struct SpanDrops {
    count: usize,
    warned: Option<MonoTime>,
}

/// Sends what [`Traces`] made.
#[derive(Debug)]
pub struct TraceExporter(Batches<Span>);

impl Traces {
    /// An observer of turns, and the exporter that sends their spans.
    #[must_use]
    pub fn new(collector: Collector) -> (Self, TraceExporter) {
        let (sender, batches) = Batches::new(collector, Signal::Traces, MAX_QUEUED);
        let traces = Self {
            clock: SystemClock::default(),
            drops: Mutex::default(),
            queue: sender,
        };
        (traces, TraceExporter(batches))
    }

    fn queue(&self, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        match self.queue.try_send(spans) {
            Ok(()) => {}
            Err(TrySendError::Full(spans)) => {
                let now = self.clock.now().mono;
                let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(count) = drops.add(spans.len(), now) {
                    tracing::warn!(
                        count,
                        "spans are dropped: the queue for the collector is full"
                    );
                }
            }
            Err(TrySendError::Closed(_)) => {
                tracing::debug!("spans are dropped: traces are not sent any more");
            }
        }
    }
}

impl SpanDrops {
    /// Adds spans that are dropped. Returns how many were dropped since the last warning, if it is time for another.
    pub fn add(&mut self, spans: usize, now: MonoTime) -> Option<usize> {
        self.count += spans;
        let is_early = |warned: MonoTime| now.since(warned) < WARNING_PAUSE;
        if self.warned.is_some_and(is_early) {
            return None;
        }
        self.warned = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

impl TurnObserver for Traces {
    fn turn_ended(&self, turn: &EndedTurn) {
        self.queue(spans::of_turn(turn));
    }

    fn exports_traces(&self) -> bool {
        true
    }

    /// A request that was passed through called a provider.
    fn record_stored(&self, record: &SpendingRecord) {
        let span = request_spans::of_call(record);
        self.queue(span.into_iter().collect());
    }

    fn request_passed(&self, request: &PassedRequest) {
        let span = request_spans::of_request(request);
        self.queue(span.into_iter().collect());
    }
}

impl McpObserver for Traces {
    /// A request of ours is part of the span of its tool call.
    fn request_ended(&self, request: &McpRequest) {
        let now = nanos(self.clock.now().wall);
        self.queue(mcp_spans::of_request(request, now).into_iter().collect());
    }

    fn session_ended(&self, _session: &McpSession) {}

    fn exports_traces(&self) -> bool {
        true
    }
}

impl TraceExporter {
    /// Sends traces until `stop`, and then at once what is left.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) {
        self.0.run(request, stop).await;
    }
}

fn request(collector: &Collector, spans: Vec<Span>) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: collector.resource(),
            scope_spans: vec![ScopeSpans {
                scope: collector.scope(),
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

/// The maximum number of turns and requests that wait.
const MAX_QUEUED: usize = 1024;
/// The pause between two warnings about dropped spans.
const WARNING_PAUSE: Duration = Duration::from_secs(60);
