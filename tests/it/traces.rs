//! Traces of turns at a collector, with the real binary.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jackfield_testkit::server::{Gate, RecordedRequest, Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;

use crate::harness::{Gateway, Kept, McpEndpoint, McpServer, kept, tool};

/// The spans of a request to the collector.
fn spans_of(request: &RecordedRequest) -> Vec<Span> {
    let decoded = ExportTraceServiceRequest::decode(&*request.body).expect("protobuf");
    let scopes = decoded.resource_spans.into_iter();
    let scopes = scopes.flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

/// All spans that a collector got.
fn all_spans(collector: &TestServer) -> Vec<Span> {
    let requests = collector.requests();
    let of_traces = requests.iter().filter(|one| one.path == "/v1/traces");
    of_traces.flat_map(spans_of).collect()
}

/// The header `traceparent` of what a span calls.
fn context_of(span: &Span) -> String {
    let hex = |bytes: &[u8]| {
        let mut hex = String::new();
        for byte in bytes {
            write!(hex, "{byte:02x}").expect("text takes all");
        }
        hex
    };
    format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.span_id))
}

/// The attributes of a span that are text.
fn texts(span: &Span) -> BTreeMap<&str, &str> {
    let texts = span.attributes.iter().filter_map(|pair| {
        let value = pair.value.as_ref()?.value.as_ref()?;
        if let Value::StringValue(text) = value {
            Some((&*pair.key, &**text))
        } else {
            None
        }
    });
    texts.collect()
}

/// The configuration that sends traces to a collector.
fn traced(collector: &TestServer) -> String {
    let endpoint = collector.base_url();
    format!("[serve.otlp]\nendpoint = \"{endpoint}\"\n")
}

/// The span of a tool call says how its server was reached, and what the server calls is below that span.
#[tokio::test]
async fn the_span_of_a_tool_call_has_the_attributes_of_mcp() {
    for (http, transport) in [(false, "pipe"), (true, "tcp")] {
        let script = json!({ "era": "legacy", "tools": [tool("look")], "calls": { "look": [{ "echo": true }] } });
        let (process, endpoint) = match http {
            false => (Some(McpServer::new(script)), None),
            true => (None, Some(McpEndpoint::new(script))),
        };
        let entry = match (&process, &endpoint) {
            (Some(process), _) => process.trusted(),
            (None, Some(endpoint)) => endpoint.with(&json!({ "trust": true })),
            (None, None) => unreachable!("one of both"),
        };
        let collector = TestServer::start_with(|_| Response::text(200, "")).await;
        let claude = ScriptedClaude::start([
            ScriptTurn::call("box__look", &json!({})),
            ScriptTurn::text("Seen."),
        ])
        .await;
        let files = Kept::new();
        let run = files
            .gateway()
            .at_with(&claude.base_url(), &traced(&collector));
        let gateway = Gateway::listening(run.servers([("box", entry)]).start()).await;
        let made = gateway.post("/api/v1/sessions", &json!({})).answered();
        let session = made.await.is(201)["id"].clone();
        let path = format!(
            "/api/v1/sessions/{}/turns",
            session.as_str().expect("an id")
        );
        let body = json!({ "message": "look" });
        gateway.post(&path, &body).answered().await.is(200);
        gateway.end().await;
        let spans = all_spans(&collector);
        let call = spans
            .iter()
            .find(|span| span.name == "execute_tool box__look");
        let call = call.expect("a span of the call");
        let attributes = texts(call);
        for (key, value) in [
            ("mcp.method.name", "tools/call"),
            ("mcp.protocol.version", "2025-11-25"),
            ("network.transport", transport),
        ] {
            assert_eq!(attributes.get(key), Some(&value), "{attributes:?}");
        }
        assert!(
            attributes.contains_key("jsonrpc.request.id"),
            "{attributes:?}"
        );
        for key in ["mcp.session.id", "server.address"] {
            assert_eq!(attributes.contains_key(key), http, "{attributes:?}");
        }
        let sent = claude.server().requests();
        let sent = sent.last().expect("a request");
        let echoed = String::from_utf8_lossy(&sent.body).into_owned();
        assert!(echoed.contains(&context_of(call)), "{echoed}");
        if let Some(process) = process {
            process.kept_and_gone().await;
        }
        kept(&claude);
    }
}

/// A call at `/mcp` is a span below the client's, and the server of its tool is called below that span.
#[tokio::test]
async fn a_call_of_an_mcp_client_is_a_span() {
    let collector = TestServer::start_with(|_| Response::text(200, "")).await;
    let script = json!({ "tools": [tool("look")], "calls": { "look": [{ "echo": true }] } });
    let server = McpServer::new(script);
    let (files, claude) = (Kept::new(), ScriptedClaude::start([]).await);
    let config = format!("{}[serve]\nmetrics = true\n", traced(&collector));
    let run = files.gateway().at_with(&claude.base_url(), &config);
    let gateway = Gateway::listening(run.servers([("box", server.trusted())]).start()).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let params = json!({ "name": "box__look", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "slice", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "traceparent": parent,
    } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let asking = gateway.post("/mcp", &body);
    let asking = asking.header("mcp-protocol-version", "2026-07-28");
    let asking = asking
        .header("mcp-method", "tools/call")
        .header("mcp-name", "box__look");
    let called = asking.answered().await.is(200);
    let samples = [
        "mcp_server_operation_duration_seconds_count{mcp_method_name=\"tools/call\"",
        "mcp_client_operation_duration_seconds_count{mcp_method_name=\"tools/call\",jackfield_server=\"box\"",
    ];
    gateway.metrics_with(&samples).await;
    gateway.end().await;
    let spans = all_spans(&collector);
    let [span] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!(span.name, "tools/call box__look");
    assert_eq!(span.parent_span_id[..2], [0, 0xf0]);
    let meta = &called["result"]["structuredContent"]["meta"];
    assert_eq!(meta["traceparent"], context_of(span));
    server.kept_and_gone().await;
}

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
    let spans = spans_of(&request);
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
    let calls = [&spans[1], &spans[3], &spans[5]].map(context_of);
    assert_eq!(parents, calls);
    let log = second.running.err.so_far();
    assert!(!log.contains("a secret"), "{log}");
    second.end().await;
}

/// A request that is passed through is a span below the client's, and the provider is called below a span of its own.
#[tokio::test]
async fn a_request_that_is_passed_through_has_a_trace() {
    let collector = TestServer::start_with(|_| Response::text(200, "")).await;
    let (files, provider) = (Kept::new(), TestServer::start().await);
    let answer = "{\"type\":\"message\",\"model\":\"opus\",\"content\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}";
    let url = provider.base_url();
    let config = format!(
        "{}[serve]\nmetrics = true\n[providers.claude]\nbase_url = \"{url}\"\n",
        traced(&collector)
    );
    let run = files.gateway().plain().configured(config);
    let gateway = Gateway::listening(run.start()).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let body = json!({ "model": "claude/opus", "max_tokens": 9, "messages": [
        { "role": "user", "content": "a secret" },
    ] });
    for (status, header) in [(200, parent), (529, parent), (200, "00-broken"), (200, "")] {
        provider.answer(Response::json(status, answer));
        let asking = gateway.post("/v1/messages", &body);
        let asking = asking.header("x-jackfield-tools", "none");
        let answered = asking.header("traceparent", header).answered().await;
        assert_eq!(answered.status, status, "{}", answered.text());
        assert_eq!(answered.header("x-jackfield-path"), "passthrough");
    }
    let failed = "gen_ai_operation_name=\"chat\",error_type=\"529\"} 1";
    gateway.metrics_with(&[failed]).await;
    gateway.end().await;
    let spans = all_spans(&collector);
    let find =
        |name: &str| -> Vec<&Span> { spans.iter().filter(|span| span.name == name).collect() };
    let (roots, calls) = (find("POST /v1/messages"), find("chat opus"));
    assert_eq!(
        (roots.len(), calls.len(), spans.len()),
        (4, 4, 8),
        "{spans:?}"
    );
    let sent = provider.requests();
    let sent: Vec<&str> = sent
        .iter()
        .map(|request| request.header("traceparent").unwrap_or_default())
        .collect();
    let mut below = 0;
    for root in roots {
        let call = calls
            .iter()
            .find(|call| call.parent_span_id == root.span_id);
        let call = call.expect("a call below each request");
        assert_eq!(call.trace_id, root.trace_id);
        assert!(sent.contains(&&*context_of(call)), "{sent:?}");
        assert!(!texts(root).contains_key("error.type") || texts(call)["error.type"] == "529");
        if root.parent_span_id.is_empty() {
            assert_ne!(root.trace_id[..2], [0x4b, 0xf9]);
        } else {
            assert_eq!(root.parent_span_id[..2], [0, 0xf0]);
            below += 1;
        }
    }
    assert_eq!(below, 2);
    let bodies = collector.requests();
    let bodies = bodies
        .iter()
        .map(|one| String::from_utf8_lossy(&one.body).into_owned());
    assert!(!bodies.collect::<String>().contains("a secret"));
}
