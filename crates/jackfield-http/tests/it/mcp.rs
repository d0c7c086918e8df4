//! `/mcp`: who may ask, and what comes back. The protocol itself is tested in `jackfield-mcp-server`.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::request::ModelRef;
use jackfield_domain::tool::{Safety, ToolOrigin};
use jackfield_engine::{Engine, ServerTools, ToolboxStatus, TurnOptions};
use jackfield_gateway::{ApiKeys, Gateway, GatewayConfig, ToolSetEntry};
use jackfield_http::router;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedCall, ScriptedToolbox};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::ServiceExt as _;

use super::connections::{Server, answer};
use super::harness::principal;

/// A gateway with two tools, for two tokens: `all`, and `read`, which may use one of them.
fn gateway(tools: &ScriptedToolbox, change: impl FnOnce(&mut GatewayConfig)) -> Gateway {
    for tool in ["read", "write"] {
        tools.tool(tool, Safety::ReadOnly);
        let call = ScriptedCall::text("done").progressed(1.0, None, None);
        tools.set_default_call(tool, call);
    }
    let trusted = ToolboxStatus {
        prefix: None,
        server: None,
        trusted: true,
    };
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .toolbox_as(tools.port(), trusted)
        .build();
    let mut config = GatewayConfig::new(TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    }));
    config.api_keys = ApiKeys::new([
        (Digest::of(b"all"), principal("all", ServerTools::All)),
        (
            Digest::of(b"read"),
            principal("read", ServerTools::Only(vec!["files/read".into()])),
        ),
        (Digest::of(b"none"), principal("none", ServerTools::None)),
    ]);
    change(&mut config);
    let memory = Arc::new(MemoryJournal::default().ephemeral());
    Gateway::new(engine, memory, config)
}

fn toolbox() -> ScriptedToolbox {
    ScriptedToolbox::new(ToolboxId::parse("files").expect("an id"))
}

async fn ask(
    gateway: &Gateway,
    method: Method,
    token: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response {
    at(gateway, "/mcp", method, token, headers, body).await
}

async fn at(
    gateway: &Gateway,
    path: &str,
    method: Method,
    token: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response {
    let mut request = Request::builder().method(method).uri(path);
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body.into()).expect("a request");
    router(gateway).oneshot(request).await.expect("an answer")
}

/// Asks in the newest revision.
async fn modern(gateway: &Gateway, token: &str, method: &str, params: Value) -> Response {
    modern_at(gateway, "/mcp", token, method, params).await
}

async fn modern_at(
    gateway: &Gateway,
    path: &str,
    token: &str,
    method: &str,
    mut params: Value,
) -> Response {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    });
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut headers = vec![
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    if !name.is_empty() {
        headers.push(("mcp-name", &name));
    }
    at(
        gateway,
        path,
        Method::POST,
        token,
        &headers,
        body.to_string(),
    )
    .await
}

async fn text(response: Response) -> String {
    let body = response.into_body().collect().await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).expect("text")
}

async fn json(response: Response) -> Value {
    serde_json::from_str(&text(response).await).expect("JSON")
}

#[tokio::test]
async fn two_tokens_see_and_call_different_tools() {
    let tools = toolbox();
    let gateway = gateway(&tools, |_| {});
    for (token, names) in [
        ("all", &["files__read", "files__write"][..]),
        ("read", &["files__read"]),
        ("none", &[]),
    ] {
        let listed = json(modern(&gateway, token, "tools/list", json!({})).await).await;
        let tools = listed["result"]["tools"].as_array().expect("tools");
        let listed: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(listed, names, "{token}");
        let call = json!({ "name": "files__write", "arguments": {} });
        let called = text(modern(&gateway, token, "tools/call", call).await).await;
        assert_eq!(called.contains("done"), token == "all", "{token}: {called}");
    }
    assert_eq!(tools.runs().len(), 1);
}

#[tokio::test]
async fn progress_and_the_response_are_events() {
    let tools = toolbox();
    let call = json!({ "name": "files__read", "arguments": {} });
    let response = modern(&gateway(&tools, |_| {}), "all", "tools/call", call).await;
    let headers = response.headers();
    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(headers["x-accel-buffering"], "no");
    let text = text(response).await;
    let events: Vec<&str> = text.split_terminator("\n\n").collect();
    assert_eq!(events.len(), 2, "{text}");
    for (event, part) in events.iter().zip(["notifications/progress", "\"done\""]) {
        let data = event.strip_prefix("event: message\ndata: ");
        let data: Value = serde_json::from_str(data.expect("a message")).expect("JSON");
        assert!(data.to_string().contains(part), "{data}");
    }
}

#[tokio::test]
async fn a_session_is_named_in_a_header_and_belongs_to_its_token() {
    let gateway = gateway(&toolbox(), |_| {});
    let router = router(&gateway);
    let send = |token: &str, session: Option<&str>, method: Method, body: &Value| {
        let mut request = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("x-api-key", token)
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        let request = request.body(Body::from(body.to_string()));
        let router = router.clone();
        async move {
            router
                .oneshot(request.expect("a request"))
                .await
                .expect("an answer")
        }
    };
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } });
    let begun = send("all", None, Method::POST, &hello).await;
    let session = begun.headers()["mcp-session-id"].clone();
    let session = session.to_str().expect("text");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let listed = send("all", Some(session), Method::POST, &list).await;
    assert_eq!(listed.status(), StatusCode::OK);
    let foreign = send("read", Some(session), Method::POST, &list).await;
    assert_eq!(foreign.status(), StatusCode::NOT_FOUND);
    let ended = send("all", Some(session), Method::DELETE, &json!({})).await;
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    let after = send("all", Some(session), Method::POST, &list).await;
    assert_eq!(after.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_refusal_is_an_error_of_json_rpc_without_an_id() {
    let gateway = gateway(&toolbox(), |config| config.limits.body = 10_000);
    for token in ["", "wrong"] {
        let refused = ask(&gateway, Method::POST, token, &[], "{}").await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(refused.headers()["www-authenticate"], "Bearer");
        let error = json(refused).await;
        assert_eq!(error["jsonrpc"], "2.0");
        assert_eq!(error["id"], Value::Null);
        assert_eq!(error["error"]["code"], -32000);
    }
    let long = "x".repeat(10_001);
    let refused = ask(&gateway, Method::POST, "all", &[], long).await;
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(json(refused).await["error"]["code"], -32000);
    let refused = ask(&gateway, Method::PUT, "all", &[], "").await;
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(refused.headers()["allow"], "POST");
    let refused = ask(&gateway, Method::GET, "all", &[], "").await;
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn without_tokens_a_foreign_page_is_refused() {
    let server = Server::start(|_| {}).await;
    for header in [
        "host: evil.example",
        "host: localhost\r\norigin: https://evil.example",
    ] {
        let mut stream = server.connect().await;
        let request = format!("POST /mcp HTTP/1.1\r\n{header}\r\ncontent-length: 2\r\n\r\n{{}}");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("a request");
        let refused = answer(&mut stream).await;
        assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
        assert!(refused.contains("\"jsonrpc\":\"2.0\""), "{refused}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_client_that_listens_does_not_hold_the_end_up() {
    let server =
        Server::start(|config| config.keep_alive = std::time::Duration::from_millis(1)).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
    let body = body.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = server.connect().await;
    stream
        .write_all(request.as_bytes())
        .await
        .expect("a request");
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains("acknowledged") {
        assert_ne!(stream.read_buf(&mut read).await.expect("an answer"), 0);
    }
    server.end().await;
    stream.read_to_end(&mut read).await.expect("an answer");
    let read = String::from_utf8_lossy(&read);
    assert!(read.contains("\"resultType\":\"complete\""), "{read}");
}

#[tokio::test]
async fn a_set_of_tools_has_an_address_of_its_own_and_is_below_what_a_token_may_use() {
    let tools = toolbox();
    let entry = |name: &str, tool: &str| ToolSetEntry {
        arguments: serde_json::Map::new(),
        description: None,
        name: ToolName::parse(name).expect("a name"),
        origin: ToolOrigin {
            tool: tool.into(),
            toolbox: ToolboxId::parse("files").expect("an id"),
        },
    };
    let gateway = gateway(&tools, |config| {
        let set = vec![entry("look", "read"), entry("put", "write")];
        config.tool_sets.insert("desk".into(), set);
    });
    for (token, names) in [
        ("all", &["look", "put"][..]),
        ("read", &["look"]),
        ("none", &[]),
    ] {
        let listed = modern_at(&gateway, "/mcp/desk", token, "tools/list", json!({})).await;
        let listed = json(listed).await;
        let tools = listed["result"]["tools"].as_array().expect("tools");
        let listed: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(listed, names, "{token}");
    }
    let call = json!({ "name": "look", "arguments": {} });
    let called = modern_at(&gateway, "/mcp/desk", "read", "tools/call", call).await;
    assert!(text(called).await.contains("\"done\""));
    let unknown = modern_at(&gateway, "/mcp/shelf", "all", "tools/list", json!({})).await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    assert_eq!(json(unknown).await["error"]["code"], -32000);
}
