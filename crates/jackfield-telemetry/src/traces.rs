//! Sends the traces of turns to a collector.

use jackfield_domain::spending_record::SpendingRecord;
use jackfield_engine::{EndedTurn, TurnObserver};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::sync::mpsc;

use crate::collector::{Batches, Collector, Signal};
use crate::spans;

/// Makes spans of the turns that have ended, for an exporter. A turn that does not fit into the queue is dropped, with a
/// warning.
#[derive(Debug)]
pub struct Traces(mpsc::Sender<Vec<Span>>);

/// Sends what [`Traces`] made.
#[derive(Debug)]
pub struct TraceExporter(Batches<Span>);

impl Traces {
    /// An observer of turns, and the exporter that sends their spans.
    #[must_use]
    pub fn new(collector: Collector) -> (Self, TraceExporter) {
        let (sender, batches) = Batches::new(collector, Signal::Traces, MAX_QUEUED);
        (Self(sender), TraceExporter(batches))
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

/// The maximum number of turns that wait.
const MAX_QUEUED: usize = 1024;
