//! Traces of turns at a collector that decodes the protobuf.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_domain::time::{MonoTime, WallTime};
use jackfield_domain::trace::{TraceContext, TraceParent};
use jackfield_engine::{
    Engine, McpObserver as _, McpRequest, McpSide, McpSpan, McpTransport, PassedRequest,
    ResumeSession, SendMessage, TurnObserver, TurnOptions,
};
use jackfield_ports::journal::Journal;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_store_memory::MemoryJournal;
use jackfield_telemetry::for_tests::SpanDrops;
use jackfield_telemetry::{Collector, CollectorSettings, Traces};
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};
use jackfield_testkit::server::{Gate, RecordedRequest, RefusingPort, Response, TestServer};
use jackfield_testkit::spending::record;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// An exporter that runs, and what stops it.
struct Exporting {
    traces: Arc<Traces>,
    running: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Exporting {
    fn to(base_url: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer key".parse().expect("a value"));
        let settings = CollectorSettings {
            endpoint: base_url.to_owned(),
            headers,
            service: "a-service".to_owned(),
            version: "1.2.3".to_owned(),
        };
        let transport = Transport::new(TransportSettings::default()).expect("a transport");
        let collector = Collector::new(settings, transport).expect("an address");
        let (traces, exporter) = Traces::new(collector);
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(exporter.run(async {
            let _dropped = stopped.await;
        }));
        Self {
            traces: Arc::new(traces),
            running,
            stop,
        }
    }

    async fn end(self) {
        drop(self.stop);
        self.running.await.expect("it ends");
    }

    fn engine(&self, journal: &Arc<dyn Journal>, model: &ScriptedModel) -> Engine {
        Engine::builder(Arc::clone(journal))
            .model("provider", model.port())
            .turn_observer(Arc::clone(&self.traces) as Arc<dyn TurnObserver>)
            .build()
    }
}

fn journal() -> Arc<dyn Journal> {
    Arc::new(MemoryJournal::default())
}

fn session() -> SessionId {
    SessionId::parse("session").expect("a valid id")
}

fn message(parent: Option<&str>) -> SendMessage {
    let mut options = TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    });
    let context = parent.and_then(|parent| TraceContext::parse(parent, Some("a=b")));
    options.trace = context.map(Arc::new);
    SendMessage {
        opening: Opening::UserMessage(Arc::new(Message::user("a secret"))),
        options,
        session: session(),
    }
}

/// The spans of a request, whose service and version are checked.
fn spans(request: &RecordedRequest) -> Vec<Span> {
    assert_eq!(request.path, "/v1/traces");
    assert_eq!(
        request.header("content-type"),
        Some("application/x-protobuf")
    );
    assert_eq!(request.header("authorization"), Some("Bearer key"));
    let decoded = ExportTraceServiceRequest::decode(&*request.body).expect("protobuf");
    let mut all = Vec::new();
    for of_resource in decoded.resource_spans {
        let resource = of_resource.resource.expect("a resource");
        let attributes = texts(&resource.attributes);
        assert_eq!(attributes["service.name"], "a-service");
        assert_eq!(attributes["service.version"], "1.2.3");
        all.extend(
            of_resource
                .scope_spans
                .into_iter()
                .flat_map(|one| one.spans),
        );
    }
    for span in &all {
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
        assert!(
            span.start_time_unix_nano <= span.end_time_unix_nano,
            "{span:?}"
        );
    }
    all
}

pub(crate) fn texts(
    attributes: &[opentelemetry_proto::tonic::common::v1::KeyValue],
) -> BTreeMap<String, String> {
    let text = |value: &Option<Value>| match value {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pairs = attributes.iter().map(|pair| {
        let value = pair.value.as_ref().expect("a value");
        (pair.key.clone(), text(&value.value))
    });
    pairs.collect()
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

#[tokio::test]
async fn a_turn_is_a_trace_below_the_span_of_its_caller() {
    let collector = TestServer::start().await;
    collector.answer(Response::text(200, ""));
    let exporting = Exporting::to(&collector.base_url());
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("done"));
    let engine = exporting.engine(&journal(), &model);
    let report = engine.send(message(Some(PARENT)), &mut ()).await;
    let report = report.expect("an answer");
    exporting.end().await;
    let request = collector.request(0).await;
    let spans = spans(&request);
    assert_eq!(names(&spans), ["invoke_agent", "chat model"]);
    let [root, call] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!(
        root.parent_span_id,
        [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7]
    );
    assert_eq!(root.trace_id[..3], [0x4b, 0xf9, 0x2f]);
    assert_eq!(root.trace_state, "a=b");
    assert_eq!(call.parent_span_id, root.span_id);
    assert_eq!(call.trace_id, root.trace_id);
    let of_root = texts(&root.attributes);
    assert_eq!(of_root["gen_ai.conversation.id"], "session");
    assert_eq!(of_root["jackfield.turn.id"], report.turn.as_str());
    assert_eq!(of_root["jackfield.end"], "answered");
    let of_call = texts(&call.attributes);
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "provider"),
        ("gen_ai.request.model", "model"),
        ("jackfield.attempt", "1"),
    ] {
        assert_eq!(of_call[key], value, "{of_call:?}");
    }
    assert!(of_call["gen_ai.response.finish_reasons"].contains("stop"));
    let bytes = String::from_utf8_lossy(&request.body).into_owned();
    assert!(
        !bytes.contains("secret") && !bytes.contains("done"),
        "{bytes}"
    );
}

/// A request that is passed through is a span of the gateway, and each call of a provider is one below that.
#[tokio::test]
async fn a_request_that_is_passed_through_is_two_spans() {
    let collector = TestServer::start().await;
    collector.answer(Response::text(200, ""));
    let exporting = Exporting::to(&collector.base_url());
    let context = |parent: &str| TraceContext::parse(parent, None).expect("a context");
    let own = context(&PARENT.replace("00f067aa0ba902b7", "1111111111111111"));
    let mut record = record("r", WallTime::from_millis(1_000));
    record.endpoint = "/v1/messages".into();
    record.trace = Some(Arc::new(own.clone()));
    exporting.traces.record_stored(&record);
    let request = PassedRequest {
        at: WallTime::from_millis(999),
        context: own.clone(),
        endpoint: "/v1/messages".into(),
        error: None,
        method: "POST".into(),
        parent: Some(Arc::new(context(PARENT))),
        status: Some(200),
        took: Duration::from_secs(4),
    };
    exporting.traces.request_passed(&request);
    // Neither the record of an ephemeral turn nor one whose client does not record its trace has a span.
    record.endpoint = "claude".into();
    exporting.traces.record_stored(&record);
    record.endpoint = "/v1/messages".into();
    record.trace = Some(Arc::new(context(&PARENT.replace("-01", "-00"))));
    exporting.traces.record_stored(&record);
    exporting.end().await;
    let spans = spans(&collector.request(0).await);
    let [call, root] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!((&*root.name, root.kind), ("POST /v1/messages", 2));
    assert_eq!(root.parent_span_id[..2], [0, 0xf0]);
    assert_eq!((&*call.name, call.kind), ("chat opus", 3));
    assert_eq!(call.parent_span_id, root.span_id);
    assert_eq!(
        (&call.trace_id, &root.span_id[..]),
        (&root.trace_id, &[0x11; 8][..])
    );
    let child = own.child("r").expect("a recorded one");
    let child = TraceParent::parse(&child.parent).expect("a context");
    assert_eq!(call.span_id, child.span);
    let attributes = texts(&call.attributes);
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.usage.input_tokens", "1000"),
        ("gen_ai.usage.output_tokens", "20"),
    ] {
        assert_eq!(attributes[key], value, "{attributes:?}");
    }
}

/// Each call has the status of its record, and names that clients choose are bounded.
#[tokio::test]
async fn a_call_of_a_provider_has_an_error_and_short_names() {
    let collector = TestServer::start().await;
    collector.answer(Response::text(200, ""));
    let exporting = Exporting::to(&collector.base_url());
    let long = format!("a{}", "ä".repeat(512));
    let cut = &long[..511];
    let cases = [
        (Some(200), "short", "short", None),
        (Some(503), &*long, cut, Some("503")),
        (None, &long, cut, Some("no_reply")),
    ];
    for (status, model, _, _) in cases {
        let mut record = record("r", WallTime::from_millis(1_000));
        record.endpoint = "/v1/messages".into();
        record.model.model = model.into();
        record.status = status;
        record.trace = TraceContext::parse(PARENT, None).map(Arc::new);
        exporting.traces.record_stored(&record);
    }
    exporting.end().await;
    let spans = spans(&collector.request(0).await);
    assert_eq!(spans.len(), cases.len());
    for (span, (status, _, model, error)) in spans.iter().zip(cases) {
        let attributes = texts(&span.attributes);
        assert_eq!(attributes["gen_ai.request.model"], model);
        let found = attributes.get("error.type").map(String::as_str);
        assert_eq!(found, error, "{status:?}");
        assert_eq!(span.status.is_some(), error.is_some(), "{status:?}");
    }
}

/// A second is the time for which spans are gathered.
#[tokio::test]
async fn a_full_batch_does_not_wait() {
    let gathering = Duration::from_secs(1);
    // A busy machine may be slow once, and a batch that waits is never fast.
    for _ in 0..5 {
        let collector = TestServer::start_with(|_| Response::text(200, "")).await;
        let exporting = Exporting::to(&collector.base_url());
        let mut record = record("r", WallTime::from_millis(1_000));
        record.endpoint = "/v1/messages".into();
        record.trace = TraceContext::parse(PARENT, None).map(Arc::new);
        let began = Instant::now();
        for _ in 0..600 {
            exporting.traces.record_stored(&record);
        }
        let first = collector.request(0).await;
        let took = began.elapsed();
        let rest = collector.request(1).await;
        let took_rest = began.elapsed();
        exporting.end().await;
        let sizes = [first, rest].map(|request| spans(&request).len());
        assert_eq!(sizes, [512, 88]);
        assert!(took_rest >= gathering, "{took_rest:?}");
        if took < gathering {
            return;
        }
    }
    panic!("it has waited");
}

#[test]
fn drops_are_counted_and_told_once_a_minute() {
    let mut drops = SpanDrops::default();
    let told: Vec<_> = [(0, 2), (1, 3), (59, 1), (60, 4), (61, 5)]
        .map(|(at, spans)| drops.add(spans, MonoTime::from_start(Duration::from_secs(at))))
        .into();
    assert_eq!(told, [Some(2), None, None, Some(8), None]);
}

/// A request of an MCP client is a span of its own, below the client's.
#[tokio::test]
async fn a_request_of_an_mcp_client_is_a_span() {
    let collector = TestServer::start().await;
    collector.answer(Response::text(200, ""));
    let exporting = Exporting::to(&collector.base_url());
    let context = |parent: &str| TraceContext::parse(parent, None).expect("a context");
    let own = PARENT.replace("00f067aa0ba902b7", "1111111111111111");
    let mut request = McpRequest {
        error: Some("tool_error".into()),
        id: Some("7".into()),
        revision: Some("2026-07-28".into()),
        session: Some("s".into()),
        span: Some(McpSpan {
            context: context(&own),
            link: Some(context(&PARENT.replace("4bf9", "aaaa"))),
            parent: Some(context(PARENT)),
        }),
        took: Duration::from_millis(5),
        tool: Some("look".into()),
        ..McpRequest::new(McpSide::Server, McpTransport::Tcp, "tools/call")
    };
    exporting.traces.request_ended(&request);
    request.span = None;
    exporting.traces.request_ended(&request);
    exporting.end().await;
    let spans = spans(&collector.request(0).await);
    let [span] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!((&*span.name, span.kind), ("tools/call look", 2));
    assert_eq!(span.trace_id[..3], [0x4b, 0xf9, 0x2f]);
    assert_eq!(span.span_id, [0x11; 8]);
    assert_eq!(span.parent_span_id[..2], [0, 0xf0]);
    assert_eq!(span.links[0].trace_id[..2], [0xaa, 0xaa]);
    assert_eq!(
        span.end_time_unix_nano - span.start_time_unix_nano,
        5_000_000
    );
    let expected = [
        ("error.type", "tool_error"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "look"),
        ("jsonrpc.request.id", "7"),
        ("mcp.method.name", "tools/call"),
        ("mcp.protocol.version", "2026-07-28"),
        ("mcp.session.id", "s"),
        ("network.transport", "tcp"),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(texts(&span.attributes), BTreeMap::from(expected));
}

#[tokio::test]
async fn a_trace_that_its_caller_does_not_record_is_not_sent() {
    let collector = TestServer::start().await;
    let exporting = Exporting::to(&collector.base_url());
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("done"));
    let engine = exporting.engine(&journal(), &model);
    let unsampled = PARENT.replace("-01", "-00");
    engine
        .send(message(Some(&unsampled)), &mut ())
        .await
        .expect("an answer");
    exporting.end().await;
    assert!(collector.requests().is_empty());
}

/// The two halves of a turn are one trace, with a link over the crash.
#[tokio::test]
async fn a_turn_that_a_crash_cut_off_is_one_trace() {
    let collector = TestServer::start().await;
    collector.answer(Response::text(200, ""));
    let exporting = Exporting::to(&collector.base_url());
    let (journal, gate, model) = (journal(), Gate::new(), ScriptedModel::new());
    model.push_reply(ScriptedReply::text("lost").held_at(&gate));
    let first = exporting.engine(&journal, &model);
    let mut nobody = ();
    tokio::select! {
        report = first.send(message(None), &mut nobody) => panic!("it ended: {report:?}"),
        () = gate.reached() => {}
    }
    drop(first);
    model.push_reply(ScriptedReply::text("done"));
    let second = exporting.engine(&journal, &model);
    let resume = ResumeSession::new(session(), message(None).options.policy);
    second.resume(resume, &mut ()).await.expect("driven");
    exporting.end().await;
    let spans = spans(&collector.request(0).await);
    assert_eq!(
        names(&spans),
        ["invoke_agent", "chat model", "away", "chat model"]
    );
    let [root, lost, away, again] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!(texts(&root.attributes)["jackfield.resumed"], "1");
    assert_eq!(texts(&lost.attributes)["error.type"], "lost");
    let links: Vec<_> = away.links.iter().map(|link| &link.span_id).collect();
    assert_eq!(links, [&lost.span_id]);
    assert_eq!(again.status, None);
    assert!(spans.iter().all(|span| span.trace_id == root.trace_id));
}

#[tokio::test]
async fn a_collector_that_is_busy_gets_the_traces_again() {
    let collector = TestServer::start().await;
    collector.answer(Response::text(503, "").header("retry-after", "0"));
    collector.answer(Response::text(200, ""));
    let exporting = Exporting::to(&collector.base_url());
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("done"));
    let engine = exporting.engine(&journal(), &model);
    engine
        .send(message(None), &mut ())
        .await
        .expect("an answer");
    let (first, second) = (collector.request(0).await, collector.request(1).await);
    assert_eq!(first.body, second.body);
    exporting.end().await;
    assert_eq!(collector.requests().len(), 2);
}

/// Without a collector, turns go on, and the end waits for nothing.
#[tokio::test]
async fn a_collector_that_is_gone_or_refuses_stops_no_turn() {
    let refusing = TestServer::start().await;
    refusing.answer(Response::text(400, "no"));
    for base_url in [RefusingPort::reserve().base_url(), refusing.base_url()] {
        let exporting = Exporting::to(&base_url);
        let model = ScriptedModel::new();
        model.push_reply(ScriptedReply::text("done"));
        let engine = exporting.engine(&journal(), &model);
        let report = engine.send(message(None), &mut ()).await;
        assert_eq!(report.expect("an answer").answer(), "done");
        let ended = tokio::time::timeout(Duration::from_secs(60), exporting.end());
        ended.await.expect("it ends soon");
    }
    assert_eq!(refusing.requests().len(), 1);
}

/// A collector that takes the connection and never answers holds no turn up.
#[tokio::test]
async fn a_collector_that_is_slow_stops_no_turn() {
    let slow = TestServer::start_with(|_| Response::raw().stall()).await;
    let exporting = Exporting::to(&slow.base_url());
    let model = ScriptedModel::new();
    let engine = exporting.engine(&journal(), &model);
    for _ in 0..3 {
        model.push_reply(ScriptedReply::text("done"));
        let report = engine.send(message(None), &mut ()).await;
        assert_eq!(report.expect("an answer").answer(), "done");
    }
    slow.request(0).await;
    model.push_reply(ScriptedReply::text("done"));
    let report = engine.send(message(None), &mut ()).await;
    assert_eq!(report.expect("an answer").answer(), "done");
    exporting.running.abort();
}
