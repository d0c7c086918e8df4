//! What observers see of requests and sessions.

use async_trait::async_trait;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::mcp_observer::{McpRequest, McpSession, McpSide, McpTransport};
use jackfield_ports::toolbox::{ToolEvents, Toolbox as _};
use jackfield_testkit::fakes::RecordingMcpObserver;
use serde_json::{Value, json};

use crate::harness::{Scripted, run, soon, tool};

/// Keeps the requests that a call consists of.
#[derive(Default)]
struct Requests(Vec<McpRequest>);

#[async_trait]
impl ToolEvents for Requests {
    async fn on_accepted(&mut self, _handle: JobHandle) {}

    fn on_request(&mut self, request: &McpRequest) {
        self.0.push(request.clone());
    }

    async fn on_progress(&mut self, _done: f64, _of: Option<f64>, _message: Option<String>) {}
}

/// A server with a tool that works, one whose result is an error, and one that the server refuses to call.
fn tools(era: &str) -> Value {
    let failed = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
    json!({
        "era": era,
        "tools": [tool("works"), tool("fails"), tool("refuses")],
        "calls": {
            "works": [{ "text": "done" }],
            "fails": [{ "reply": failed }],
            "refuses": [{ "error": { "code": -32602, "message": "no" } }],
        },
    })
}

/// The requests in a few words each.
fn shown(requests: &[McpRequest]) -> Vec<String> {
    let shown = requests.iter().map(|request| {
        let (tool, error) = (request.tool.as_deref(), request.error.as_deref());
        let (tool, error) = (tool.unwrap_or("-"), error.unwrap_or("ok"));
        format!("{} {tool} {error}", request.method)
    });
    shown.collect()
}

#[tokio::test]
async fn each_request_to_a_process_is_seen_once_with_its_end() {
    let server = Scripted::new(tools("legacy"));
    let observer = RecordingMcpObserver::default();
    let toolbox = server.another().observed_by(observer.observers());
    soon(toolbox.list()).await.unwrap();
    let mut events = Requests::default();
    for name in ["works", "fails", "refuses"] {
        let run = run(name, json!({}));
        soon(toolbox.call(&run, &CallContext::default(), &mut events))
            .await
            .unwrap();
    }
    soon(toolbox.stop()).await;
    let seen = observer.requests();
    assert_eq!(
        shown(&seen),
        [
            "initialize - ok",
            "tools/list - ok",
            "tools/call works ok",
            "tools/call fails tool_error",
            "tools/call refuses -32602",
        ]
    );
    let refused = McpRequest {
        error: Some("-32602".into()),
        id: seen[4].id.clone(),
        revision: Some("2025-11-25".into()),
        server: Some("scripted".into()),
        status: Some(-32602),
        tool: Some("refuses".into()),
        ..McpRequest::new(McpSide::Client, McpTransport::Pipe, "tools/call")
    };
    assert_eq!(seen[4], refused);
    assert!(refused.id.is_some(), "{refused:?}");
    // A call learns of its own requests, before they are over for the observers.
    assert_eq!(shown(&events.0), shown(&seen)[2..]);
    let session = McpSession {
        error: None,
        revision: "2025-11-25".into(),
        server: Some("scripted".into()),
        side: McpSide::Client,
        took: std::time::Duration::ZERO,
        transport: McpTransport::Pipe,
    };
    assert_eq!(observer.sessions(), [session]);
    server.kept();
}

#[tokio::test]
async fn a_request_over_http_has_the_address_and_the_session_of_its_server() {
    for (era, revision) in [("legacy", "2025-11-25"), ("modern", "2026-07-28")] {
        let server = Scripted::over_http(tools(era));
        let observer = RecordingMcpObserver::default();
        let toolbox = server.another().observed_by(observer.observers());
        soon(toolbox.call(&run("works", json!({})), &CallContext::default(), &mut ()))
            .await
            .unwrap();
        soon(toolbox.stop()).await;
        let seen = observer.requests();
        let call = seen
            .iter()
            .find(|one| &*one.method == "tools/call")
            .unwrap();
        let (host, port) = call.address.clone().unwrap();
        let url = server.http.as_ref().unwrap().url();
        assert!(url.contains(&format!("{host}:{}", port.unwrap())), "{url}");
        assert_eq!(
            (call.transport, call.revision.as_deref()),
            (McpTransport::Tcp, Some(revision))
        );
        let has_session = era == "legacy";
        assert_eq!(call.session.is_some(), has_session, "{call:?}");
        assert_eq!(observer.sessions().len(), usize::from(has_session), "{era}");
        server.kept();
    }
}

/// A call that is given up is seen, too, and so is one whose server goes away.
#[tokio::test]
async fn a_call_without_an_answer_is_seen_with_the_reason() {
    let script = json!({
        "tools": [tool("waits"), tool("dies")],
        "calls": { "waits": [{ "wait": true }], "dies": [{ "die": 3 }] },
    });
    let server = Scripted::new(script);
    let observer = RecordingMcpObserver::default();
    let toolbox = server.another().observed_by(observer.observers());
    let waits = run("waits", json!({}));
    let mut events = Requests::default();
    let context = CallContext::default();
    tokio::select! {
        ended = toolbox.call(&waits, &context, &mut events) => panic!("{ended:?}"),
        () = server.until("said tools/call", 1) => {}
    }
    let died = soon(toolbox.call(&run("dies", json!({})), &CallContext::default(), &mut ())).await;
    assert!(died.is_err(), "{died:?}");
    soon(toolbox.stop()).await;
    let seen = shown(&observer.requests());
    assert!(
        seen.ends_with(&[
            "tools/call waits cancelled".to_owned(),
            "tools/call dies closed".to_owned(),
        ]),
        "{seen:?}"
    );
    let sessions = observer.sessions();
    let errors: Vec<_> = sessions.iter().map(|one| one.error.as_deref()).collect();
    assert_eq!(errors, [Some("ended")]);
}
