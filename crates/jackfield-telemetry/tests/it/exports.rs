//! Metrics and the log at a collector that decodes the protobuf.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use jackfield_engine::{Clock as _, SystemClock};
use jackfield_gateway::{EndedRequest, GatewayMetrics};
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_telemetry::{Collector, CollectorSettings, LogLayer, Metrics, push_metrics};
use jackfield_testkit::server::{Response, TestServer};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::metrics::{engine, journal, read, run_turn};
use crate::traces::texts;

async fn collector() -> (TestServer, Collector) {
    let server = TestServer::start_with(|_| Response::text(200, "")).await;
    let settings = CollectorSettings {
        endpoint: server.base_url(),
        headers: HeaderMap::new(),
        service: "a-service".to_owned(),
        version: "1.2.3".to_owned(),
    };
    let transport = Transport::new(TransportSettings::default()).expect("a transport");
    let collector = Collector::new(settings, transport).expect("an address");
    (server, collector)
}

#[tokio::test]
async fn the_log_is_sent_with_its_fields_and_not_what_sending_it_logs() {
    let (server, collector) = collector().await;
    let layer = LogLayer::default();
    let log = tracing_subscriber::registry().with(layer.clone());
    tracing::subscriber::with_default(log, || {
        tracing::info!("nothing takes this yet");
        let exporter = layer.exporter(collector.clone());
        assert!(exporter.is_some() && layer.exporter(collector).is_none());
        let span = tracing::info_span!("turn", session = "s1", calls = tracing::field::Empty);
        span.in_scope(|| {
            span.record("calls", 2);
            tracing::warn!(seconds = 1.5, why = %"slow", "a call {}", "failed");
            tracing::error!(target: "hyper_util::client", "a connection broke");
            tracing::error!(target: "jackfield_telemetry::collector", "it is gone");
            tracing::debug!(long = "x".repeat(20_000), "cut");
        });
        exporter.expect("an exporter")
    })
    .run(async {})
    .await;
    let request = server.request(0).await;
    assert_eq!(request.path, "/v1/logs");
    let decoded = ExportLogsServiceRequest::decode(&*request.body).expect("protobuf");
    let resource = decoded.resource_logs[0]
        .resource
        .as_ref()
        .expect("a resource");
    assert_eq!(texts(&resource.attributes)["service.name"], "a-service");
    let records = &decoded.resource_logs[0].scope_logs[0].log_records;
    assert_eq!(records.len(), 2, "{records:?}");
    let warning = &records[0];
    assert_eq!(
        (warning.severity_number, &*warning.severity_text),
        (13, "WARN")
    );
    assert_eq!(
        format!("{:?}", warning.body)
            .matches("a call failed")
            .count(),
        1
    );
    let expected = [
        ("calls", "2"),
        ("seconds", "Some(DoubleValue(1.5))"),
        ("session", "s1"),
        ("target", "it::exports"),
        ("why", "slow"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(texts(&warning.attributes), BTreeMap::from(expected));
    assert_eq!(texts(&records[1].attributes)["long"].len(), 8192);
}

#[tokio::test]
async fn metrics_are_sent_under_their_own_names() {
    let (server, collector) = collector().await;
    let metrics = Arc::new(Metrics::new("1.2.3"));
    let engine = engine(&journal(), &metrics, 2);
    run_turn(&engine, "one").await;
    run_turn(&engine, "two").await;
    read(&metrics, &engine, SystemClock::default().now().wall).await;
    push_metrics(metrics, engine, collector, async {}).await;
    let request = server.request(0).await;
    assert_eq!(request.path, "/v1/metrics");
    let decoded = ExportMetricsServiceRequest::decode(&*request.body).expect("protobuf");
    let sent = &decoded.resource_metrics[0].scope_metrics[0].metrics;
    let find = |name: &str| {
        let found = sent.iter().find(|metric| metric.name == name);
        found.unwrap_or_else(|| panic!("{name} in {sent:?}"))
    };
    let turns = find("gen_ai.invoke_agent.duration");
    let Some(Data::Histogram(histogram)) = &turns.data else {
        panic!("{turns:?}");
    };
    let [point] = &*histogram.data_points else {
        panic!("{histogram:?}");
    };
    assert_eq!((point.count, &*turns.unit), (2, "s"));
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), 2);
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    let cost = find("jackfield_ledger_cost");
    let Some(Data::Sum(sum)) = &cost.data else {
        panic!("{cost:?}");
    };
    assert!(sum.is_monotonic && !sum.data_points.is_empty(), "{sum:?}");
    assert!(point.start_time_unix_nano <= point.time_unix_nano);
}

#[tokio::test]
async fn a_histogram_is_sent_with_the_counts_between_its_bounds() {
    let (server, collector) = collector().await;
    let metrics = Arc::new(Metrics::new("1.2.3"));
    let engine = engine(&journal(), &metrics, 0);
    let error = "a \"b\" \\ {c},\nd=\"e\"";
    for millis in [4, 8, 9, 1_000_000] {
        let ended = EndedRequest {
            error: Some(error),
            method: "GET",
            route: "/",
            status: Some(200),
            took: Duration::from_millis(millis),
        };
        GatewayMetrics::request_ended(&*metrics, &ended);
    }
    push_metrics(metrics, engine, collector, async {}).await;
    let request = server.request(0).await;
    let decoded = ExportMetricsServiceRequest::decode(&*request.body).expect("protobuf");
    let sent = &decoded.resource_metrics[0].scope_metrics[0].metrics;
    let find = |name: &str| sent.iter().find(|metric| metric.name == name);
    // What has no name of OpenTelemetry, and no unit, has its own.
    let build = find("jackfield_build").expect("the metric");
    assert_eq!(build.unit, "");
    assert!(matches!(build.data, Some(Data::Gauge(_))), "{build:?}");
    let sent = find("http.server.request.duration").expect("the metric");
    assert_eq!(sent.unit, "s");
    let Some(Data::Histogram(histogram)) = &sent.data else {
        panic!("{sent:?}");
    };
    let [point] = &*histogram.data_points else {
        panic!("{histogram:?}");
    };
    let bounds: Vec<f64> = (0..16).map(|nth| 0.005 * f64::from(1 << nth)).collect();
    assert_eq!(point.explicit_bounds, bounds);
    let mut counts = vec![0; 17];
    (counts[0], counts[1], counts[16]) = (1, 2, 1);
    assert_eq!(point.bucket_counts, counts);
    assert_eq!((point.count, point.sum), (4, Some(1000.021)));
    let expected = [
        ("error.type", error),
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("http.route", "/"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(texts(&point.attributes), BTreeMap::from(expected));
}
