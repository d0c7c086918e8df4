//! What observers see of requests and sessions over HTTP, and the trace of a request.

use std::sync::Arc;

use http::HeaderMap;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::Safety;
use jackfield_domain::trace::{TraceContext, TraceParent};
use jackfield_engine::{Engine, McpRequest, McpSession, McpSide, McpTransport, ToolboxStatus};
use jackfield_mcp_server::{HttpReply, HttpService, ToolServer};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{RecordingMcpObserver, ScriptedCall, ScriptedToolbox};
use serde_json::{Value, json};

use crate::harness::{TIME_LIMIT, options, request, toolbox};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const AMBIENT: &str = "00-11111111111111111111111111111111-2222222222222222-01";

/// A server of these tools under observation.
fn server(tools: &ScriptedToolbox, observer: &RecordingMcpObserver) -> ToolServer {
    let standing = ToolboxStatus {
        prefix: Some("".into()),
        server: None,
        trusted: true,
    };
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .toolbox_as(tools.port(), standing)
        .mcp_observers(observer.observers());
    ToolServer::new(engine.build(), options())
}

fn tools() -> ScriptedToolbox {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly);
    for call in [
        ScriptedCall::text("done"),
        ScriptedCall::result(ToolResult::error("no")),
    ] {
        tools.push_call("read", call);
    }
    tools
}

async fn post(
    service: &HttpService,
    server: &ToolServer,
    pairs: &[(&'static str, &str)],
    body: &Value,
) -> HttpReply {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().expect("a value"));
    }
    let body = body.to_string();
    let reply = service.post(server, "one", &headers, body.as_bytes());
    let reply = tokio::time::timeout(TIME_LIMIT, reply).await;
    reply.expect("a reply in time")
}

/// Asks in the newest revision.
async fn ask(
    server: &ToolServer,
    (method, name): (&str, &str),
    context: &[(&'static str, &str)],
    meta: Option<&str>,
) {
    let mut body = request(1, method, json!({ "name": name, "arguments": {} }));
    if let Some(parent) = meta {
        body["params"]["_meta"]["traceparent"] = parent.into();
    }
    let mut pairs = vec![
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", name),
    ];
    pairs.extend(context);
    let reply = post(&HttpService::new(), server, &pairs, &body).await;
    assert!(matches!(reply, HttpReply::Message { .. }), "{reply:?}");
}

/// The requests that were seen, once there are so many: one is seen when its task is over, after its reply.
async fn seen(observer: &RecordingMcpObserver, count: usize) -> Vec<McpRequest> {
    let seen = async {
        loop {
            let requests = observer.requests();
            if requests.len() >= count {
                return requests;
            }
            tokio::task::yield_now().await;
        }
    };
    let seen = tokio::time::timeout(TIME_LIMIT, seen).await;
    seen.expect("requests are seen in time")
}

#[tokio::test]
async fn each_request_is_seen_once_with_its_end() {
    let (tools, observer) = (tools(), RecordingMcpObserver::default());
    let server = server(&tools, &observer);
    for (method, name) in [
        ("tools/call", "read"),
        ("tools/call", "read"),
        ("tools/call", "write"),
        ("an/invention", ""),
    ] {
        let before = observer.requests().len();
        ask(&server, (method, name), &[], None).await;
        seen(&observer, before + 1).await;
    }
    let found = |method: &str| McpRequest {
        id: Some("1".into()),
        revision: Some("2026-07-28".into()),
        ..McpRequest::new(McpSide::Server, McpTransport::Tcp, method)
    };
    let call = |name: &str| McpRequest {
        tool: Some(name.into()),
        ..found("tools/call")
    };
    let failed = McpRequest {
        error: Some("tool_error".into()),
        ..call("read")
    };
    let (mut refused, mut unknown) = (call("write"), found("_OTHER"));
    refused.refuse(-32602);
    unknown.refuse(-32601);
    assert_eq!(
        observer.requests(),
        [call("read"), failed, refused, unknown]
    );
}

#[tokio::test]
async fn a_session_is_seen_when_it_is_over() {
    let (tools, observer) = (tools(), RecordingMcpObserver::default());
    let (server, service) = (server(&tools, &observer), HttpService::new());
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
    } });
    let begun = post(&service, &server, &[], &hello).await;
    let HttpReply::Message {
        session: Some(session),
        ..
    } = begun
    else {
        panic!("no session: {begun:?}");
    };
    let list = json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/list" });
    post(&service, &server, &[("mcp-session-id", &session)], &list).await;
    let requests = seen(&observer, 2).await;
    let found = requests.iter().map(|one| {
        let id = one.session.as_deref() == Some(&session);
        (&*one.method, one.revision.as_deref(), id)
    });
    let found: Vec<_> = found.collect();
    assert_eq!(
        found,
        [
            ("initialize", Some("2025-06-18"), true),
            ("tools/list", Some("2025-06-18"), true),
        ]
    );
    assert_eq!(observer.sessions(), []);
    let mut headers = HeaderMap::new();
    headers.insert("mcp-session-id", session.parse().expect("a value"));
    let ended = service.delete("one", &headers);
    assert!(matches!(ended, HttpReply::Ended), "{ended:?}");
    let over = McpSession {
        error: None,
        revision: "2025-06-18".into(),
        server: None,
        side: McpSide::Server,
        took: std::time::Duration::ZERO,
        transport: McpTransport::Tcp,
    };
    assert_eq!(observer.sessions(), [over]);
}

/// What the tool got is the span of the request, which is below the one in `_meta`, or else that of the HTTP request.
#[tokio::test]
async fn a_request_has_a_span_and_what_it_calls_belongs_to_it() {
    let in_headers: [(&str, &str); 2] = [("traceparent", AMBIENT), ("tracestate", "c=d")];
    for (has_headers, meta, parent, link) in [
        (false, None, None, None),
        (false, Some(PARENT), Some(PARENT), None),
        (true, None, Some(AMBIENT), None),
        (true, Some(PARENT), Some(PARENT), Some(AMBIENT)),
    ] {
        let headers = if has_headers { &in_headers[..] } else { &[] };
        let (tools, observer) = (tools(), RecordingMcpObserver::exporting());
        let server = server(&tools, &observer);
        ask(&server, ("tools/call", "read"), headers, meta).await;
        let requests = seen(&observer, 1).await;
        let span = requests[0].span.clone().expect("a span");
        let text = |context: &Option<TraceContext>| {
            let context = context.as_ref();
            context.map(|context| context.parent.to_string())
        };
        assert_eq!(text(&span.parent).as_deref(), parent);
        assert_eq!(text(&span.link).as_deref(), link);
        let own = TraceParent::parse(&span.context.parent).expect("a context");
        if let Some(parent) = parent.and_then(TraceParent::parse) {
            assert_eq!(own.trace, parent.trace);
            assert_ne!(own.span, parent.span);
        }
        assert!(own.is_sampled);
        let calls = tools.calls();
        let got = calls[0].trace.as_ref();
        assert_eq!(got, Some(&span.context));
    }
}

#[tokio::test]
async fn a_request_whose_trace_is_not_recorded_or_broken_passes_on_what_is_right() {
    let unsampled = PARENT.replace("-01", "-00");
    for (meta, is_recorded) in [(&*unsampled, false), ("00-broken", true), ("", true)] {
        let (tools, observer) = (tools(), RecordingMcpObserver::exporting());
        let server = server(&tools, &observer);
        ask(&server, ("tools/call", "read"), &[], Some(meta)).await;
        let requests = seen(&observer, 1).await;
        let span = requests[0].span.as_ref();
        assert_eq!(span.is_some(), is_recorded, "{meta}");
        assert_eq!(span.and_then(|span| span.parent.clone()), None, "{meta}");
        let got = tools.calls()[0].trace.clone();
        let got = got.map(|context| context.parent.to_string());
        let expected = match span {
            Some(span) => span.context.parent.to_string(),
            None => unsampled.clone(),
        };
        assert_eq!(got, Some(expected), "{meta}");
    }
}
