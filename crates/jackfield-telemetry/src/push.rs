//! Sends the metrics to a collector.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::time::WallTime;
use jackfield_engine::{Clock as _, Engine, SystemClock};
use jackfield_gateway::GatewayMetrics as _;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{ResourceMetrics, ScopeMetrics};

use crate::collector::{Collector, Signal};
use crate::metrics::Metrics;
use crate::page_metrics::{self, ReadingTimes};
use crate::span_parts::nanos;

/// Sends the metrics of a gateway each minute until `stop`, and then once more. What a collector does not take is not
/// repeated: the next figures include it.
pub async fn push_metrics(
    metrics: Arc<Metrics>,
    engine: Engine,
    collector: Collector,
    stop: impl Future<Output = ()> + Send,
) {
    let clock = SystemClock::default();
    let start = clock.now().wall;
    let mut stop = std::pin::pin!(stop);
    let mut is_over = false;
    while !is_over {
        is_over = tokio::select! {
            () = tokio::time::sleep(INTERVAL) => false,
            () = &mut stop => true,
        };
        let request = request(&metrics, &engine, &collector, start, clock.now().wall);
        collector.send(Signal::Metrics, &request, 1, 1).await;
    }
}

fn request(
    metrics: &Metrics,
    engine: &Engine,
    collector: &Collector,
    start: WallTime,
    now: WallTime,
) -> ExportMetricsServiceRequest {
    let times = ReadingTimes {
        now: nanos(now),
        start: nanos(start),
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: collector.resource(),
            scope_metrics: vec![ScopeMetrics {
                metrics: page_metrics::read(&metrics.page(engine), times),
                scope: collector.scope(),
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

/// The usual interval of OpenTelemetry (`OTEL_METRIC_EXPORT_INTERVAL`, SDK specification 1.50).
const INTERVAL: Duration = Duration::from_secs(60);
