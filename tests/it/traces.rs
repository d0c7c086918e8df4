//! Traces of turns at a collector, with the real binary.

use jackfield_testkit::server::{Gate, Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;

use crate::harness::{Gateway, Kept};

/// The trace of a client goes on in the turn, and over a kill.
#[tokio::test]
async fn a_turn_is_one_trace_over_a_kill() {
    let collector = TestServer::start_with(|_| Response::text(200, "")).await;
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("This one is lost.").pause_after(0, &gate),
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let files = Kept::new();
    let more = format!(
        "[serve.otlp]\nendpoint = \"{}\"\nheaders_env = \"HEADERS\"\nservice = \"ours\"\n",
        collector.base_url()
    );
    let start = || {
        let gateway = files.gateway().at_with(&claude.base_url(), &more);
        gateway.env("HEADERS", "x-key=a secret").start()
    };
    let first = Gateway::listening(start()).await;
    let made = first.post("/api/v1/sessions", &json!({})).answered();
    let session = made.await.is(201)["id"].clone();
    let path = format!(
        "/api/v1/sessions/{}/turns",
        session.as_str().expect("an id")
    );
    let body = json!({ "message": "calculate", "mode": "background" });
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let asking = first.post(&path, &body).header("traceparent", parent);
    asking.answered().await.is(202);
    gate.reached().await;
    first.running.kill();
    first.running.end().await;
    gate.open();
    let second = Gateway::listening(start()).await;
    let request = collector.request(0).await;
    assert_eq!(request.header("x-key"), Some("a secret"));
    let decoded = ExportTraceServiceRequest::decode(&*request.body).expect("protobuf");
    let scopes = decoded.resource_spans.into_iter();
    let scopes = scopes.flat_map(|resource| resource.scope_spans);
    let spans: Vec<Span> = scopes.flat_map(|scope| scope.spans).collect();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "invoke_agent jackfield",
            "chat claude-opus-5-5",
            "away",
            "chat claude-opus-5-5",
            "execute_tool calculator",
            "chat claude-opus-5-5",
        ]
    );
    assert_eq!(spans[2].links[0].span_id, spans[1].span_id);
    assert_eq!(spans[0].parent_span_id[..2], [0, 0xf0]);
    assert!(spans.iter().all(|span| span.trace_id[..2] == [0x4b, 0xf9]));
    // Each request of the provider is below the span of its call, also that of the killed process.
    let requests = claude.server().requests();
    let requests = requests
        .iter()
        .filter(|request| request.path == "/v1/messages");
    let parents: Vec<&str> = requests
        .map(|request| request.header("traceparent").unwrap_or_default())
        .collect();
    let calls = [&spans[1], &spans[3], &spans[5]].map(|span| {
        let hex = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
        };
        format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.span_id))
    });
    assert_eq!(parents, calls);
    let log = second.running.err.so_far();
    assert!(!log.contains("a secret"), "{log}");
    second.end().await;
}
