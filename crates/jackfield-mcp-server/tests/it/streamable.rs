//! Requests over HTTP, in both eras, without a socket.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_mcp_server::{HttpReply, HttpService, MessageStream, ServerSettings, ToolServer};
use jackfield_testkit::fakes::{Ending, Gate, ScriptedCall, ScriptedToolbox};
use serde_json::{Value, json};

use crate::harness::{TIME_LIMIT, request, server, toolbox};

/// A client, and the service that it asks.
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) server: ToolServer,
    pub(crate) service: HttpService,
}

impl Client {
    pub(crate) fn of(tools: &ScriptedToolbox) -> Self {
        Self {
            name: "one",
            server: server(tools),
            service: HttpService::new(),
        }
    }

    pub(crate) async fn post(&self, pairs: &[(&str, &str)], body: &Value) -> HttpReply {
        let headers = headers(pairs);
        let body = body.to_string();
        let reply = self
            .service
            .post(&self.server, self.name, &headers, body.as_bytes());
        let reply = tokio::time::timeout(TIME_LIMIT, reply).await;
        reply.expect("a reply in time")
    }

    /// Asks in the newer era, with the headers that repeat the body.
    async fn ask(&self, method: &str, params: Value) -> HttpReply {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut pairs = vec![
            ("accept", BOTH),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            pairs.push(("mcp-name", &name));
        }
        self.post(&pairs, &request(1, method, params)).await
    }

    /// Begins a session of this revision.
    async fn begin(&self, version: &str) -> String {
        self.begin_with(version, hello(version)).await
    }

    /// Begins a session with this message.
    pub(crate) async fn begin_with(&self, version: &str, hello: Value) -> String {
        let reply = self.post(&[("accept", BOTH)], &hello).await;
        let HttpReply::Message {
            body,
            session: Some(session),
            status: 200,
        } = reply
        else {
            panic!("no session: {reply:?}");
        };
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(body["result"]["protocolVersion"], version);
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let noted = self.in_session(&session, &note).await;
        assert!(matches!(noted, HttpReply::Accepted), "{noted:?}");
        session
    }

    pub(crate) async fn in_session(&self, session: &str, body: &Value) -> HttpReply {
        let pairs = [("accept", BOTH), ("mcp-session-id", session)];
        self.post(&pairs, body).await
    }
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        headers.append(
            name,
            HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
        );
    }
    headers
}

fn hello(version: &str) -> Value {
    hello_with(version, json!({}))
}

pub(crate) fn hello_with(version: &str, capabilities: Value) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    legacy(
        "initialize",
        json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client }),
    )
}

pub(crate) fn legacy(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

/// The status and the message of a reply that is no stream.
#[track_caller]
pub(crate) fn whole(reply: HttpReply) -> (u16, Value) {
    let HttpReply::Message { body, status, .. } = reply else {
        panic!("no message: {reply:?}");
    };
    (status, serde_json::from_slice(&body).expect("JSON"))
}

#[track_caller]
pub(crate) fn stream(reply: HttpReply) -> MessageStream {
    let HttpReply::Stream(stream) = reply else {
        panic!("no stream: {reply:?}");
    };
    stream
}

pub(crate) async fn next(stream: &mut MessageStream) -> Option<Value> {
    let next = tokio::time::timeout(TIME_LIMIT, stream.next()).await;
    let next = next.expect("a message in time")?;
    Some(serde_json::from_slice(&next).expect("JSON"))
}

async fn ended(tools: &ScriptedToolbox) -> Ending {
    let over = async {
        loop {
            match tools.calls().first().map(|call| call.ending) {
                Some(ending) if ending != Ending::Running => return ending,
                Some(_) | None => tokio::task::yield_now().await,
            }
        }
    };
    let over = tokio::time::timeout(TIME_LIMIT, over).await;
    over.expect("the call is over in time")
}

fn reading(call: ScriptedCall) -> ScriptedToolbox {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly).push_call("read", call);
    tools
}

#[tokio::test]
async fn a_request_of_the_newest_revision_stands_alone() {
    let tools = reading(ScriptedCall::text("done"));
    let client = Client::of(&tools);
    let (status, found) = whole(client.ask("server/discover", json!({})).await);
    assert_eq!(status, 200);
    let capabilities = &found["result"]["capabilities"];
    assert_eq!(capabilities, &json!({ "tools": { "listChanged": true } }));
    let (_, listed) = whole(client.ask("tools/list", json!({})).await);
    assert_eq!(listed["result"]["tools"][0]["name"], "read");
    assert_eq!(listed["result"]["cacheScope"], "private");
    let call = json!({ "name": "read", "arguments": {} });
    let (status, called) = whole(client.ask("tools/call", call).await);
    assert_eq!((status, &called["id"]), (200, &json!(1)));
    assert_eq!(called["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn an_error_of_the_newest_revision_has_its_status() {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly);
    let client = Client::of(&tools);
    let modern = [("accept", BOTH), ("mcp-protocol-version", "2026-07-28")];
    let list = request(1, "tools/list", json!({}));
    let with = |name: &'static str, value: &'static str| {
        let mut pairs = modern.to_vec();
        pairs.push((name, value));
        pairs
    };
    let mut of_no_version = list.clone();
    let meta = &mut of_no_version["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = "2030-01-01".into();
    let mut without_meta = list.clone();
    without_meta["params"] = json!({});
    let unknown = json!({ "name": "write", "arguments": {} });
    let unknown = request(1, "tools/call", unknown);
    let mut named = with("mcp-method", "tools/call");
    named.push(("mcp-name", "write"));
    let cases = [
        (with("mcp-method", "tools/call"), list.clone(), 400, -32020),
        (modern.to_vec(), list.clone(), 400, -32020),
        (
            vec![("mcp-method", "tools/list")],
            list.clone(),
            400,
            -32020,
        ),
        (
            with("mcp-method", "tools/call"),
            unknown.clone(),
            400,
            -32020,
        ),
        (named, unknown, 200, -32602),
        (with("mcp-method", "tools/list"), without_meta, 400, -32602),
        (
            vec![
                ("mcp-protocol-version", "2030-01-01"),
                ("mcp-method", "tools/list"),
            ],
            of_no_version,
            400,
            -32022,
        ),
        (
            with("mcp-method", "prompts/list"),
            request(1, "prompts/list", json!({})),
            404,
            -32601,
        ),
        (
            with("mcp-method", "ping"),
            request(1, "ping", json!({})),
            404,
            -32601,
        ),
        (vec![], legacy("tools/list", json!({})), 400, -32600),
        (vec![], json!([list]), 400, -32600),
        (vec![("accept", "text/html")], list.clone(), 406, -32600),
    ];
    for (pairs, body, status, code) in cases {
        let (is, error) = whole(client.post(&pairs, &body).await);
        let shown = format!("{pairs:?} {body}: {error}");
        assert_eq!(
            (is, &error["error"]["code"]),
            (status, &json!(code)),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn progress_makes_a_stream_and_a_client_of_json_alone_gets_the_end() {
    let call = || ScriptedCall::text("done").progressed(1.0, Some(2.0), Some("half"));
    let params = json!({ "name": "read", "arguments": {}, "_meta": { "progressToken": "p" } });
    let tools = reading(call());
    let client = Client::of(&tools);
    let mut stream = stream(client.ask("tools/call", params.clone()).await);
    let first = next(&mut stream).await.expect("progress");
    assert_eq!(first["method"], "notifications/progress");
    assert_eq!(
        first["params"],
        json!({ "progressToken": "p", "progress": 1.0, "total": 2.0, "message": "half" })
    );
    let second = next(&mut stream).await.expect("a response");
    assert_eq!(second["result"]["content"][0]["text"], "done");
    assert_eq!(next(&mut stream).await, None);

    tools.push_call("read", call());
    let pairs = [
        ("accept", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "read"),
    ];
    let body = request(1, "tools/call", params);
    let (_, called) = whole(client.post(&pairs, &body).await);
    assert_eq!(called["result"]["content"][0]["text"], "done");
}

#[tokio::test(start_paused = true)]
async fn a_slow_response_becomes_a_stream_and_dropping_it_aborts_the_call() {
    let gate = Gate::new();
    let tools = reading(ScriptedCall::text("done").held_at(&gate));
    let client = Client::of(&tools);
    let call = json!({ "name": "read", "arguments": {} });
    let stream = stream(client.ask("tools/call", call).await);
    assert_eq!(tools.calls()[0].ending, Ending::Running);
    drop(stream);
    assert_eq!(ended(&tools).await, Ending::Dropped);
}

#[tokio::test]
async fn every_older_revision_works_in_a_session() {
    let tools = toolbox("ours");
    tools
        .tool("read", Safety::ReadOnly)
        .set_default_call("read", ScriptedCall::text("done"));
    let client = Client::of(&tools);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = client.begin(version).await;
        let (_, listed) = whole(
            client
                .in_session(&session, &legacy("tools/list", json!({})))
                .await,
        );
        assert_eq!(listed["result"]["tools"][0]["name"], "read");
        assert_eq!(listed["result"]["cacheScope"], Value::Null);
        let call = legacy("tools/call", json!({ "name": "read" }));
        let (_, called) = whole(client.in_session(&session, &call).await);
        assert_eq!(called["result"]["content"][0]["text"], "done");
        assert_eq!(called["result"]["resultType"], Value::Null);
        let ping = legacy("ping", json!({}));
        let (status, pong) = whole(client.in_session(&session, &ping).await);
        assert_eq!((status, &pong["result"]), (200, &json!({})));
        // Errors of methods have no status of their own in this era.
        let unknown = legacy("prompts/list", json!({}));
        let (status, error) = whole(client.in_session(&session, &unknown).await);
        assert_eq!((status, &error["error"]["code"]), (200, &json!(-32601)));
    }
}

#[tokio::test]
async fn a_session_belongs_to_one_client_and_can_be_ended() {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly);
    let client = Client::of(&tools);
    let session = client.begin("2025-11-25").await;
    let other = Client {
        name: "other",
        service: client.service.clone(),
        ..Client::of(&tools)
    };
    let ping = legacy("ping", json!({}));
    assert_eq!(whole(other.in_session(&session, &ping).await).0, 404);
    let named = headers(&[("mcp-session-id", &session)]);
    let foreign = client.service.delete("other", &named);
    assert_eq!(whole(foreign).0, 404);
    assert_eq!(whole(client.in_session(&session, &ping).await).0, 200);
    let ended = client.service.delete("one", &named);
    assert!(matches!(ended, HttpReply::Ended), "{ended:?}");
    assert_eq!(whole(client.in_session(&session, &ping).await).0, 404);
    let nothing = client.service.delete("one", &headers(&[]));
    assert!(
        matches!(nothing, HttpReply::MethodNotAllowed),
        "{nothing:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn sessions_are_bounded_in_number_and_time() {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly);
    let client = Client::of(&tools);
    let first = client.begin("2025-11-25").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let second = client.begin("2025-11-25").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    for _ in 2..=128 {
        client.begin("2025-11-25").await;
    }
    let ping = legacy("ping", json!({}));
    assert_eq!(whole(client.in_session(&first, &ping).await).0, 404);
    assert_eq!(whole(client.in_session(&second, &ping).await).0, 200);
    tokio::time::advance(Duration::from_secs(3601)).await;
    assert_eq!(whole(client.in_session(&second, &ping).await).0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_session_in_use_does_not_end_at_the_limit() {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly);
    let client = Client::of(&tools);
    let used = client.begin("2025-11-25").await;
    let pairs = headers(&[("accept", "text/event-stream"), ("mcp-session-id", &used)]);
    let listening = stream(client.service.get(&client.server, "one", &pairs).await);
    tokio::time::advance(Duration::from_secs(1)).await;
    let unused = client.begin("2025-11-25").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    for _ in 2..=128 {
        client.begin("2025-11-25").await;
    }
    let ping = legacy("ping", json!({}));
    assert_eq!(whole(client.in_session(&unused, &ping).await).0, 404);
    assert_eq!(whole(client.in_session(&used, &ping).await).0, 200);
    drop(listening);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_of_a_session_run_at_once_than_may_and_the_others_wait() {
    let (tools, gate) = (toolbox("ours"), Gate::new());
    tools
        .tool("read", Safety::ReadOnly)
        .set_default_call("read", ScriptedCall::text("done").held_at(&gate));
    let mut client = Client::of(&tools);
    client.server = client.server.with(ServerSettings {
        most_calls: 2,
        stream_after: Duration::from_secs(1),
        ..ServerSettings::default()
    });
    let session = client.begin("2025-11-25").await;
    let mut streams = Vec::new();
    for id in 0..5 {
        let mut call = legacy("tools/call", json!({ "name": "read" }));
        call["id"] = json!(id);
        // Each becomes a stream once whatever can start has started.
        streams.push(stream(client.in_session(&session, &call).await));
    }
    assert_eq!(tools.max_concurrent_calls(), 2);
    gate.open();
    for stream in &mut streams {
        let called = next(stream).await.expect("a response");
        assert_eq!(called["result"]["content"][0]["text"], "done");
    }
    assert_eq!(tools.max_concurrent_calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_older_client_cancels_with_a_notification_and_not_by_leaving() {
    let (tools, gate) = (toolbox("ours"), Gate::new());
    tools.tool("read", Safety::ReadOnly);
    tools.push_call("read", ScriptedCall::text("left").held_at(&gate));
    let client = Client::of(&tools);
    let session = client.begin("2025-06-18").await;
    let call = legacy("tools/call", json!({ "name": "read" }));
    drop(stream(client.in_session(&session, &call).await));
    gate.open();
    assert_eq!(ended(&tools).await, Ending::CameBack);

    let (tools, gate) = (toolbox("ours"), Gate::new());
    tools.tool("read", Safety::ReadOnly);
    tools.push_call("read", ScriptedCall::text("done").held_at(&gate));
    let client = Client::of(&tools);
    let session = client.begin("2025-06-18").await;
    let mut stream = stream(client.in_session(&session, &call).await);
    let again = client.in_session(&session, &call).await;
    assert_eq!(whole(again).0, 400, "the id is in use");
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 },
    });
    let noted = client.in_session(&session, &cancel).await;
    assert!(matches!(noted, HttpReply::Accepted), "{noted:?}");
    assert_eq!(next(&mut stream).await, None);
    assert_eq!(ended(&tools).await, Ending::Dropped);
}

#[tokio::test(start_paused = true)]
async fn a_changed_list_is_announced_in_both_eras() {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly);
    let client = Client::of(&tools);
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let mut modern = stream(client.ask("subscriptions/listen", filter).await);
    let accepted = next(&mut modern).await.expect("an acknowledgement");
    assert_eq!(
        accepted["method"],
        "notifications/subscriptions/acknowledged"
    );
    let session = client.begin("2025-11-25").await;
    let pairs = headers(&[
        ("accept", "text/event-stream"),
        ("mcp-session-id", &session),
    ]);
    let get = client.service.get(&client.server, "one", &pairs);
    let mut older = stream(get.await);
    // The lists so far are known once this time has passed.
    tokio::time::sleep(Duration::from_secs(10)).await;
    tools.tool("write", Safety::ReadOnly);
    for stream in [&mut modern, &mut older] {
        let told = next(stream).await.expect("a notification");
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
    // The end of the process ends both, and the newer one in good order.
    client.service.close();
    let result = next(&mut modern).await.expect("a result");
    assert_eq!(
        (&result["id"], &result["result"]["resultType"]),
        (&json!(1), &json!("complete"))
    );
    assert_eq!(next(&mut modern).await, None);
    assert_eq!(next(&mut older).await, None);
}

#[tokio::test]
async fn a_get_without_a_session_is_for_no_one() {
    let client = Client::of(&toolbox("ours"));
    let get = |pairs: &[(&str, &str)]| {
        let pairs = headers(pairs);
        let (service, server) = (client.service.clone(), client.server.clone());
        async move { service.get(&server, "one", &pairs).await }
    };
    let none = get(&[("accept", "text/event-stream")]).await;
    assert!(matches!(none, HttpReply::MethodNotAllowed), "{none:?}");
    let unknown = get(&[("accept", "text/event-stream"), ("mcp-session-id", "x")]).await;
    assert_eq!(whole(unknown).0, 404);
}

#[tokio::test]
async fn a_header_that_repeats_an_argument_has_to_agree() {
    let tools = toolbox("ours");
    let schema = json!({ "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
    } });
    tools.spec(ToolSpec {
        description: "Scripted.".into(),
        icon: None,
        input: InputFormat::Json(Arc::new(schema)),
        name: "read".into(),
        output: None,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: None,
    });
    tools.set_default_call("read", ScriptedCall::text("done"));
    let client = Client::of(&tools);
    let body = json!({ "name": "read", "arguments": { "region": "eu" } });
    let body = request(1, "tools/call", body);
    for (region, status) in [("eu", 200), ("us", 400)] {
        let pairs = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "read"),
            ("mcp-param-region", region),
        ];
        assert_eq!(whole(client.post(&pairs, &body).await).0, status);
    }
    assert_eq!(tools.runs().len(), 1);
}

pub(crate) const BOTH: &str = "application/json, text/event-stream";
