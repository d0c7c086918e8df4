//! The routes, with a model in memory behind them.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_engine::ServerTools;
use jackfield_gateway::{ApiKeys, Gateway, KeySummary, ProviderSummary};
use jackfield_http::router;
use jackfield_testkit::fakes::ScriptedReply;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::harness::{gateway, principal, send};

async fn post(gateway: &Gateway, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
    let mut request = Request::post(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_string()));
    let answered = router(gateway).oneshot(request.expect("a request")).await;
    answered.expect("an answer")
}

async fn text(response: Response) -> (StatusCode, HeaderMap, String) {
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let text = String::from_utf8(body.to_vec()).expect("text");
    (head.status, head.headers, text)
}

async fn json(response: Response) -> (StatusCode, Value) {
    let (status, _, text) = text(response).await;
    (status, serde_json::from_str(&text).expect("JSON"))
}

fn chat(stream: bool) -> Value {
    json!({
        "model": "claude/model",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": stream,
    })
}

#[tokio::test]
async fn a_client_that_wants_a_websocket_is_told_at_once_that_there_is_none() {
    let gateway = gateway([], |_| {});
    for (headers, status) in [
        (
            [("upgrade", "websocket"), ("connection", "Upgrade")].as_slice(),
            StatusCode::UPGRADE_REQUIRED,
        ),
        (
            &[("upgrade", "h2c, WebSocket")],
            StatusCode::UPGRADE_REQUIRED,
        ),
        (&[("upgrade", "h2c")], StatusCode::METHOD_NOT_ALLOWED),
        (&[], StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let response = send(&gateway, Method::GET, "/v1/responses", headers).await;
        let (told, head, body) = text(response).await;
        assert_eq!(told, status, "{body}");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert!(body["error"]["message"].is_string(), "{body}");
        let wants = status == StatusCode::UPGRADE_REQUIRED;
        assert_eq!(head.contains_key("upgrade"), wants, "{head:?}");
    }
}

#[tokio::test]
async fn an_answer_that_was_taken_is_given_again_to_the_same_key_and_body() {
    let replies = ["Good day", "Another day"].map(ScriptedReply::text);
    let gateway = gateway(replies, |_| {});
    let key = [("idempotency-key", "order-17")];
    let path = "/v1/chat/completions";
    let (_, first) = json(post(&gateway, path, &key, &chat(false)).await).await;
    assert_eq!(first["choices"][0]["message"]["content"], "Good day");
    let (status, again) = json(post(&gateway, path, &key, &chat(false)).await).await;
    assert_eq!(status, StatusCode::OK, "{again}");
    assert_eq!(
        (&again["id"], &again["choices"]),
        (&first["id"], &first["choices"])
    );
    let (_, streamed, text) = text(post(&gateway, path, &key, &chat(true)).await).await;
    // Another body is another request.
    assert!(text.contains("idempotency key"), "{streamed:?} {text}");
    let (_, other) = json(post(&gateway, path, &[], &chat(false)).await).await;
    assert_eq!(other["choices"][0]["message"]["content"], "Another day");
}

#[tokio::test]
async fn a_bare_name_of_another_vendor_is_not_asked_of_the_default_provider() {
    let provider = |kind: &str, at_vendor| ProviderSummary {
        at_vendor,
        configured: false,
        dialect: kind.into(),
        key: KeySummary::Found,
        kind: kind.into(),
    };
    let ask = async |at_vendor, name: &str| {
        let gateway = gateway([ScriptedReply::text("Good day")], |config| {
            let providers = [
                ("claude", provider("claude", at_vendor)),
                ("work", provider("openai", true)),
            ];
            config.providers = providers.map(|(name, known)| (name.into(), known)).into();
        });
        let body = json!({ "model": name, "messages": [{ "role": "user", "content": "Hello" }] });
        json(post(&gateway, "/v1/chat/completions", &[], &body).await).await
    };
    let (status, answer) = ask(true, "gpt-6-sol").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(answer["error"]["code"], "model_not_found");
    let message = "there is no model `gpt-6-sol` at `claude`, which is asked where no provider is named; \
                   did you mean `work/gpt-6-sol`?";
    assert_eq!(answer["error"]["message"], message);
    let (_, answer) = ask(true, "mistral-small").await;
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("there is no model `mistral-small` at `claude`"),
        "{message}"
    );
    // Its own names, unknown ones, and those at another address are for the provider to know.
    for (at_vendor, name) in [(true, "claude-next"), (true, "next"), (false, "gpt-6-sol")] {
        assert_eq!(ask(at_vendor, name).await.0, StatusCode::OK, "{name}");
    }
}

#[tokio::test]
async fn each_language_gets_the_models_reply() {
    let replies = [(); 3].map(|()| ScriptedReply::text("Good day"));
    let gateway = gateway(replies, |_| {});
    let (status, answer) =
        json(post(&gateway, "/v1/chat/completions", &[], &chat(false)).await).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["choices"][0]["message"]["content"], "Good day");
    let request = json!({"model": "claude/model", "input": "Hello"});
    let (status, answer) = json(post(&gateway, "/v1/responses", &[], &request).await).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["output"][0]["content"][0]["text"], "Good day");
    let request = json!({
        "model": "claude/model",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Hello"}],
    });
    let (status, answer) = json(post(&gateway, "/v1/messages", &[], &request).await).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["content"][0]["text"], "Good day");
}

#[tokio::test]
async fn a_stream_ends_with_its_last_event() {
    let gateway = gateway([ScriptedReply::text("Good day")], |_| {});
    let response = post(&gateway, "/v1/chat/completions", &[], &chat(true)).await;
    let (status, headers, events) = text(response).await;
    assert_eq!(status, StatusCode::OK, "{events}");
    assert_eq!(headers["content-type"], "text/event-stream; charset=utf-8");
    assert!(events.contains("Good day"), "{events}");
    assert!(events.trim_end().ends_with("data: [DONE]"), "{events}");
}

#[tokio::test]
async fn a_turn_of_the_own_api_ends_with_its_answer() {
    let gateway = gateway([ScriptedReply::text("Good day")], |_| {});
    let (status, session) = json(post(&gateway, "/api/v1/sessions", &[], &json!({})).await).await;
    assert_eq!(status, StatusCode::CREATED, "{session}");
    let id = session["id"].as_str().expect("an id");
    let path = format!("/api/v1/sessions/{id}/turns");
    let request = json!({"message": "Hello", "mode": "wait"});
    let (status, turn) = json(post(&gateway, &path, &[], &request).await).await;
    assert!(status.is_success(), "{turn}");
    assert!(turn.to_string().contains("Good day"), "{turn}");
}

#[tokio::test]
async fn a_client_needs_one_of_the_keys() {
    let client = principal("ann", ServerTools::All);
    let reply = ScriptedReply::text("Good day");
    let gateway = gateway([reply], |config| {
        config.api_keys = ApiKeys::new([(Digest::of(b"right"), client)]);
    });
    for headers in [&[][..], &[("authorization", "Bearer wrong")]] {
        let response = post(&gateway, "/v1/chat/completions", headers, &chat(false)).await;
        let (status, refusal) = json(response).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{headers:?}");
        assert_eq!(refusal["error"]["code"], "invalid_api_key", "{refusal}");
    }
    let headers = [("authorization", "bearer right")];
    let response = post(&gateway, "/v1/chat/completions", &headers, &chat(false)).await;
    assert_eq!(response.status(), StatusCode::OK);
}
