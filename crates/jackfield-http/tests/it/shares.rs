//! One client that takes all it can, and two beside it whose requests go on.

use axum::body::Body;
use axum::response::Response;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::quota::Quota;
use jackfield_engine::ServerTools;
use jackfield_gateway::{ApiKeys, Gateway, GatewayConfig};
use jackfield_http::router;
use jackfield_testkit::fakes::{Gate, ScriptedReply};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::connections::{Server, asked};
use super::harness::{gateway, principal};

const GREEDY: &str = "greedy";
const HONEST: [&str; 2] = ["ann", "ben"];
const CHAT: &str = "/v1/chat/completions";

/// Three clients, whose tokens are their names.
fn three(config: &mut GatewayConfig) {
    let clients = [GREEDY, HONEST[0], HONEST[1]].map(|name| {
        let client = principal(name, ServerTools::All);
        (Digest::of(name.as_bytes()), client)
    });
    config.api_keys = ApiKeys::new(clients);
}

fn replies() -> impl Iterator<Item = ScriptedReply> {
    (0..40).map(|_| ScriptedReply::text("Good day"))
}

fn hi() -> Value {
    json!({ "model": "model", "messages": [{ "role": "user", "content": "Hi" }] })
}

async fn send(gateway: &Gateway, key: &str, method: Method, path: &str, body: &Value) -> Response {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()));
    let answered = router(gateway).oneshot(request.expect("a request")).await;
    answered.expect("an answer")
}

async fn post_status(gateway: &Gateway, key: &str, path: &str, body: &Value) -> StatusCode {
    let response = send(gateway, key, Method::POST, path, body).await;
    let status = response.status();
    response.into_body().collect().await.expect("a body");
    status
}

/// Streams that stay open, as long as the responses are kept.
async fn streams(gateway: &Gateway, key: &str, count: usize) -> Vec<Response> {
    let mut open = Vec::new();
    for _ in 0..count {
        let path = "/api/v1/approvals/events";
        let response = send(gateway, key, Method::GET, path, &Value::Null).await;
        if response.status() == StatusCode::OK {
            open.push(response);
        } else {
            assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(response.headers()["retry-after"], "1");
        }
    }
    open
}

#[tokio::test]
async fn a_client_with_all_streams_keeps_no_other_out() {
    let gateway = gateway(replies(), |config| {
        three(config);
        config.limits.streams = 8;
    });
    // Alone it may have all of them.
    let held = streams(&gateway, GREEDY, 12).await;
    assert_eq!(held.len(), 8);
    for _ in 0..3 {
        for key in HONEST {
            assert_eq!(post_status(&gateway, key, CHAT, &hi()).await, 200);
        }
        assert_eq!(post_status(&gateway, GREEDY, CHAT, &hi()).await, 429);
        let mut named = hi();
        named["user"] = "somebody else".into();
        assert_eq!(post_status(&gateway, GREEDY, CHAT, &named).await, 429);
    }
    let (ann, ben) = (
        streams(&gateway, HONEST[0], 1).await,
        streams(&gateway, HONEST[1], 1).await,
    );
    assert_eq!((ann.len(), ben.len()), (1, 1));
    drop((held, ann, ben));
    assert_eq!(post_status(&gateway, GREEDY, CHAT, &hi()).await, 200);
}

#[tokio::test]
async fn a_full_gateway_takes_answers_and_cancellations() {
    let gateway = gateway(replies(), |config| {
        three(config);
        config.limits.streams = 2;
    });
    let session = send(
        &gateway,
        GREEDY,
        Method::POST,
        "/api/v1/sessions",
        &json!({}),
    )
    .await;
    let session = session.into_body().collect().await.expect("a body");
    let session: Value = serde_json::from_slice(&session.to_bytes()).expect("JSON");
    let session = session["id"].as_str().expect("an id");
    let _held = streams(&gateway, GREEDY, 2).await;
    let of_session = |rest: &str| format!("/api/v1/sessions/{session}{rest}");
    let taken = [
        "/api/v1/approvals/none/allow".to_owned(),
        "/api/v1/approvals/none/deny".to_owned(),
        of_session("/turns/turn_1/cancel"),
        "/v1/responses/resp_none/cancel".to_owned(),
    ];
    for path in taken {
        let status = post_status(&gateway, GREEDY, &path, &json!({})).await;
        assert_eq!(status, 404, "{path}");
    }
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "action": "accept" } });
    let status = post_status(&gateway, GREEDY, "/mcp", &answer).await;
    assert_ne!(status, 429);
    let cancelled = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": 1 },
    });
    assert_ne!(post_status(&gateway, GREEDY, "/mcp", &cancelled).await, 429);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(post_status(&gateway, GREEDY, "/mcp", &call).await, 429);
}

#[tokio::test]
async fn a_client_with_all_background_turns_keeps_no_other_out() {
    let gate = Gate::new();
    let slow = (0..4).map(|_| ScriptedReply::text("Slowly").held_at(&gate));
    let gateway = gateway(slow.chain(replies()), |config| {
        three(config);
        config.limits.streams = 4;
    });
    let background = json!({ "model": "model", "input": "Hi", "background": true });
    let path = "/v1/responses";
    for _ in 0..4 {
        assert_eq!(post_status(&gateway, GREEDY, path, &background).await, 200);
    }
    for _ in 0..4 {
        gate.reached().await;
    }
    for _ in 0..3 {
        for key in HONEST {
            assert_eq!(post_status(&gateway, key, CHAT, &hi()).await, 200);
        }
        assert_eq!(post_status(&gateway, GREEDY, CHAT, &hi()).await, 429);
    }
    gate.open();
}

#[tokio::test]
async fn a_client_that_fills_the_room_for_bodies_keeps_no_other_out() {
    let gateway = gateway(replies(), |config| {
        three(config);
        config.limits.body = 128 << 10;
    });
    let greedy = principal(GREEDY, ServerTools::All);
    let mut held = Vec::new();
    for _ in 0..8 {
        let mut room = gateway.body_room(&greedy);
        room.grow(120 << 10).expect("alone it may have all");
        held.push(room);
    }
    let padded = |size: usize| {
        let mut body = hi();
        body["messages"][0]["content"] = "a".repeat(size).into();
        body
    };
    let large = padded(100 << 10);
    for _ in 0..3 {
        assert_eq!(post_status(&gateway, GREEDY, CHAT, &large).await, 429);
        for key in HONEST {
            assert_eq!(post_status(&gateway, key, CHAT, &large).await, 200);
        }
    }
    // A small body needs no room.
    assert_eq!(post_status(&gateway, GREEDY, CHAT, &padded(10)).await, 200);
    drop(held);
    assert_eq!(post_status(&gateway, GREEDY, CHAT, &large).await, 200);
}

#[tokio::test]
async fn a_full_gateway_reads_no_body() {
    let gateway = gateway(replies(), |config| {
        three(config);
        config.limits.streams = 1;
    });
    let session = send(
        &gateway,
        GREEDY,
        Method::POST,
        "/api/v1/sessions",
        &json!({}),
    )
    .await;
    let session = session.into_body().collect().await.expect("a body");
    let session: Value = serde_json::from_slice(&session.to_bytes()).expect("JSON");
    let session = session["id"].as_str().expect("an id");
    let _held = streams(&gateway, GREEDY, 1).await;
    let server = Server::of(gateway).await;
    let turns = format!("/api/v1/sessions/{session}/turns");
    let paths = [
        CHAT,
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/responses",
        "/v1beta/models/model:generateContent",
        "/v1beta/models/model:countTokens",
        "/mcp",
        "/api/v1/sessions",
        "/api/v1/ui/chat",
        &turns,
    ];
    for path in paths {
        let mut stream = server.connect().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {GREEDY}\r\n\
             content-type: application/json\r\ncontent-length: 1000000\r\n\r\n"
        );
        let answer = asked(&mut stream, &head).await;
        assert!(answer.starts_with("HTTP/1.1 429"), "{path}: {answer}");
    }
    server.end().await;
}

#[tokio::test]
async fn requests_that_write_or_export_count_for_the_rate() {
    let gateway = gateway(replies(), |config| {
        let quota = Quota {
            requests_per_minute: Some(3),
            ..Quota::default()
        };
        let mut client = principal("ann", ServerTools::All);
        client.quotas = vec![("user:ann".into(), quota)];
        config.api_keys = ApiKeys::new([(Digest::of(b"ann"), client)]);
    });
    let created = send(
        &gateway,
        "ann",
        Method::POST,
        "/api/v1/sessions",
        &json!({}),
    )
    .await;
    assert_eq!(created.status(), 201);
    let created = created.into_body().collect().await.expect("a body");
    let created: Value = serde_json::from_slice(&created.to_bytes()).expect("JSON");
    let path = format!(
        "/api/v1/sessions/{}",
        created["id"].as_str().expect("an id")
    );
    let export = format!("{path}/export");
    let rest = [
        (Method::GET, &*export, 200),
        (Method::GET, "/api/v1/sessions", 200),
        (Method::PATCH, &*path, 200),
        (Method::GET, &*export, 429),
        (Method::POST, "/api/v1/sessions", 429),
        (Method::DELETE, &*path, 429),
        (Method::POST, "/api/v1/approvals/none/allow", 404),
        (Method::GET, "/api/v1/sessions", 200),
    ];
    for (method, path, status) in rest {
        let body = match method {
            Method::PATCH => json!({ "title": "Mine" }),
            _ => json!({}),
        };
        let response = send(&gateway, "ann", method.clone(), path, &body).await;
        assert_eq!(response.status(), status, "{method} {path}");
    }
}
