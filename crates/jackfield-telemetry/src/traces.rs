//! Sends the traces of turns and requests to a collector.

use std::fmt;

use jackfield_domain::spending_record::SpendingRecord;
use jackfield_engine::{
    Clock as _, EndedTurn, McpObserver, McpRequest, McpSession, PassedRequest, SystemClock,
    TurnObserver,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::sync::mpsc;

use crate::collector::{Batches, Collector, Signal};
use crate::span_parts::nanos;
use crate::{mcp_spans, request_spans, spans};

/// Makes spans of the turns and requests that have ended, for an exporter. What does not fit into the queue is dropped,
/// with a warning.
#[derive(Debug)]
pub struct Traces {
    clock: SystemClock,
    queue: mpsc::Sender<Vec<Span>>,
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
            queue: sender,
        };
        (traces, TraceExporter(batches))
    }

    /// Queues spans. What they are of is for the log, if there is no room.
    fn queue(&self, spans: Vec<Span>, of: &dyn fmt::Display) {
        if !spans.is_empty() && self.queue.try_send(spans).is_err() {
            tracing::warn!(%of, "spans are dropped: the collector is too slow");
        }
    }
}

impl TurnObserver for Traces {
    fn turn_ended(&self, turn: &EndedTurn) {
        self.queue(spans::of_turn(turn), &turn.session);
    }

    fn exports_traces(&self) -> bool {
        true
    }

    /// A request that was passed through called a provider.
    fn record_stored(&self, record: &SpendingRecord) {
        let span = request_spans::of_call(record);
        self.queue(span.into_iter().collect(), &record.endpoint);
    }

    fn request_passed(&self, request: &PassedRequest) {
        let span = request_spans::of_request(request);
        self.queue(span.into_iter().collect(), &request.endpoint);
    }
}

impl McpObserver for Traces {
    /// A request of ours is part of the span of its tool call.
    fn request_ended(&self, request: &McpRequest) {
        let now = nanos(self.clock.now().wall);
        let spans = mcp_spans::of_request(request, now).into_iter().collect();
        self.queue(spans, &request.method);
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
