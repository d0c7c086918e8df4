//! The routes of Gemini, with a model in memory behind them.

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_engine::ServerTools;
use jackfield_gateway::{ApiKeys, Gateway};
use jackfield_http::router;
use jackfield_testkit::fakes::ScriptedReply;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::harness::{gateway, principal};

const MODEL: &str = "/v1beta/models/claude/model";

async fn ask(gateway: &Gateway, request: Request<Body>) -> (StatusCode, String) {
    let answered = router(gateway).oneshot(request).await.expect("an answer");
    let (head, body) = answered.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let text = String::from_utf8(body.to_vec()).expect("text");
    (head.status, text)
}

fn post(path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::post(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello" }] }] });
    request
        .body(Body::from(body.to_string()))
        .expect("a request")
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).expect("a request")
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[tokio::test]
async fn both_versions_of_the_api_are_served() {
    let gateway = gateway([ScriptedReply::text("Good day")], |_| {});
    let path = "/v1/models/claude/model:generateContent?key=any";
    let (status, text) = ask(&gateway, post(path, &[])).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    assert!(parsed(&text)["candidates"].is_array(), "{text}");
    let (_, text) = ask(&gateway, get("/v1/models?key=any")).await;
    assert!(parsed(&text)["models"].is_array(), "{text}");
    let (_, text) = ask(&gateway, get("/v1/models")).await;
    assert!(parsed(&text)["data"].is_array(), "{text}");
}

#[tokio::test]
async fn a_reply_comes_whole_as_a_list_or_as_events() {
    let gateway = gateway([(); 3].map(|()| ScriptedReply::text("Good day")), |_| {});
    let said = |reply: &Value| reply["candidates"][0]["content"]["parts"][0]["text"].clone();
    let (status, text) = ask(&gateway, post(&format!("{MODEL}:generateContent"), &[])).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    let reply = parsed(&text);
    assert_eq!(said(&reply), "Good day");
    assert_eq!(reply["modelVersion"], "claude/model");
    let stream = format!("{MODEL}:streamGenerateContent");
    let (_, text) = ask(&gateway, post(&stream, &[])).await;
    let list = parsed(&text);
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!(said(&list[0]), "Good day");
    let (_, text) = ask(&gateway, post(&format!("{stream}?alt=sse"), &[])).await;
    let events = text
        .split("\n\n")
        .filter(|event| !event.is_empty())
        .map(|event| parsed(event.strip_prefix("data: ").expect("data")));
    let events: Vec<Value> = events.collect();
    assert_eq!(said(&events[0]), "Good day");
    let last = events.last().expect("a last one");
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert!(last["usageMetadata"].is_object(), "{last}");
}

#[tokio::test]
async fn models_are_listed_and_tokens_counted_in_its_form() {
    let gateway = gateway([], |_| {});
    let (status, text) = ask(&gateway, post(&format!("{MODEL}:countTokens"), &[])).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    assert!(parsed(&text)["totalTokens"].as_u64() > Some(0), "{text}");
    let (status, text) = ask(&gateway, get("/v1beta/models?pageSize=5")).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    assert!(parsed(&text)["models"].is_array(), "{text}");
    let (status, text) = ask(&gateway, get(MODEL)).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    assert_eq!(parsed(&text)["name"], "models/claude/model");
}

#[tokio::test]
async fn a_refusal_has_its_form() {
    let gateway = gateway([], |_| {});
    for (request, status, name) in [
        (
            post("/v1beta/models/nobody/x:generateContent", &[]),
            404,
            "NOT_FOUND",
        ),
        (
            post(&format!("{MODEL}:embedContent"), &[]),
            404,
            "NOT_FOUND",
        ),
        (post("/v1beta/cachedContents", &[]), 404, "NOT_FOUND"),
        (get("/v1beta/models/nobody/x"), 404, "NOT_FOUND"),
    ] {
        let (told, text) = ask(&gateway, request).await;
        let error = &parsed(&text)["error"];
        assert_eq!(
            (told.as_u16(), &error["code"]),
            (status, &json!(status)),
            "{text}"
        );
        assert_eq!(error["status"], name);
    }
}

#[tokio::test]
async fn a_key_may_be_in_a_header_or_in_the_address() {
    let client = principal("ann", ServerTools::All);
    let gateway = gateway(
        [(); 5].map(|()| ScriptedReply::text("Good day")),
        |config| {
            config.api_keys = ApiKeys::new([(Digest::of(b"right/1"), client)]);
        },
    );
    let path = format!("{MODEL}:generateContent");
    let header = |key| ("x-goog-api-key", key);
    for (request, is_known) in [
        (post(&path, &[]), false),
        (post(&path, &[header("wrong")]), false),
        (post(&path, &[header("right/1")]), true),
        (post(&path, &[("authorization", "Bearer right/1")]), true),
        (post(&format!("{path}?key=right/1"), &[]), true),
        (
            post(&format!("{path}?alt=json&key=right%2F1&x=1"), &[]),
            true,
        ),
        (post(&format!("{path}?key=wrong"), &[]), false),
        (post(&format!("{path}?key="), &[]), false),
        // The header counts, as the vendor's SDKs send it.
        (
            post(&format!("{path}?key=wrong"), &[header("right/1")]),
            true,
        ),
        // The other languages have no key in the address.
        (post("/v1/chat/completions?key=right/1", &[]), false),
    ] {
        let address = request.uri().to_string();
        let (status, text) = ask(&gateway, request).await;
        let expected = if is_known {
            StatusCode::OK
        } else {
            StatusCode::UNAUTHORIZED
        };
        assert_eq!(status, expected, "{address}: {text}");
        assert!(!text.contains("right"), "{text}");
    }
    // Below its paths nothing repeats the key, though it repeats the address.
    let (status, text) = ask(&gateway, post("/v1beta/nothing?key=right/1", &[])).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        text.contains("/v1beta/nothing") && !text.contains("right"),
        "{text}"
    );
}
