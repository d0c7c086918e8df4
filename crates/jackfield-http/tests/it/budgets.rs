//! Budgets over HTTP: what is refused, in each language, what the headers say, and what is counted.

use std::sync::Arc;

use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::price::{Money, Price, PriceList, Rates};
use jackfield_domain::usage::Usage;
use jackfield_gateway::{ApiKeys, Gateway};
use jackfield_http::router;
use jackfield_testkit::fakes::ScriptedReply;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::harness::{admin, gateway};

/// A gateway whose model uses 1000 tokens in and 100 out for each reply: 0.002 USD.
fn priced() -> Gateway {
    let replies = (0..20).map(|_| {
        ScriptedReply::text("Good day").with_usage(Usage {
            input: 1000,
            output: 100,
            ..Usage::default()
        })
    });
    gateway(replies, |config| {
        let root = admin();
        config.api_keys = ApiKeys::new([(Digest::of(b"root"), root)]);
        let mut prices = PriceList::default();
        let money = |micros: u64| Money::from_picos(micros * 1_000_000);
        prices.set(
            "claude",
            "model",
            Price {
                currency: "USD".into(),
                date: "2026-11-01".into(),
                rates: Rates {
                    cache_read: money(1),
                    cache_write: money(1),
                    ..Rates::new(money(1), money(10))
                },
                source: "a test".into(),
                variants: Vec::new(),
            },
        );
        let prices = Arc::new(prices);
        config.default_options.prices = Arc::clone(&prices);
        for options in config.options.values_mut() {
            options.prices = Arc::clone(&prices);
        }
    })
}

async fn send(
    gateway: &Gateway,
    token: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> (StatusCode, HeaderMap, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .expect("a request");
    let answered = router(gateway).oneshot(request).await.expect("an answer");
    let (head, body) = answered.into_parts();
    let text = body.collect().await.expect("a body").to_bytes();
    let body = serde_json::from_slice(&text).unwrap_or(Value::Null);
    (head.status, head.headers, body)
}

/// Ann, of the team `research`, and a key of hers with this quota.
async fn ann(gateway: &Gateway, quota: &Value) -> (String, String) {
    let root = async |path: &str, body: Value| {
        let (status, _, answer) = send(gateway, "root", Method::POST, path, &body).await;
        assert_eq!(status, StatusCode::CREATED, "{answer}");
        answer
    };
    root("/api/v1/teams", json!({ "name": "research" })).await;
    root(
        "/api/v1/users",
        json!({ "name": "ann", "team": "research" }),
    )
    .await;
    let key = root("/api/v1/keys", json!({ "user": "ann", "quota": quota })).await;
    let text = |field: &str| key[field].as_str().expect("text").to_owned();
    (text("id"), text("secret"))
}

async fn limit(gateway: &Gateway, path: &str, quota: Value) -> Value {
    let body = json!({ "quota": quota });
    let (status, _, answer) = send(gateway, "root", Method::PATCH, path, &body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer["quota"].clone()
}

fn chat() -> Value {
    json!({ "model": "claude/model", "max_tokens": 100,
        "messages": [{ "role": "user", "content": "Hello" }] })
}

async fn ask(gateway: &Gateway, secret: &str) -> (StatusCode, HeaderMap, Value) {
    send(
        gateway,
        secret,
        Method::POST,
        "/v1/chat/completions",
        &chat(),
    )
    .await
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().expect("text"))
}

#[tokio::test]
async fn a_key_without_money_for_the_day_is_refused_until_the_day_ends() {
    let gateway = priced();
    let (id, secret) = ann(&gateway, &json!({ "cost_per_day": "0.003" })).await;
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::OK);
    // The second begins within the budget and ends beyond it: one round over, and no more.
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::OK);
    let (status, headers, body) = ask(&gateway, &secret).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(body["error"]["code"], "insufficient_quota");
    assert_eq!(body["error"]["type"], "insufficient_quota");
    let message = body["error"]["message"].as_str().expect("text");
    let says =
        format!("the budget of the key `{id}`, 0.003 USD per day, is used up: 0.0040 USD were");
    assert!(message.starts_with(&says), "{message}");
    let wait = header(&headers, "retry-after").expect("a time");
    let wait: u64 = wait.parse().expect("a number");
    assert!((1..=86_400).contains(&wait), "{wait}");
    assert_eq!(header(&headers, "x-should-retry"), Some("false"));
    // A raise holds from the next request on.
    let quota = limit(
        &gateway,
        &format!("/api/v1/keys/{id}"),
        json!({ "cost_per_day": "0.30" }),
    )
    .await;
    assert_eq!(quota["cost_per_day"], "0.3");
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::OK);
}

#[tokio::test]
async fn each_language_has_its_words_for_a_budget_that_is_used_up() {
    let gateway = priced();
    let (_, secret) = ann(&gateway, &json!({ "tokens_per_month": 1000 })).await;
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::OK);
    let mut claude = chat();
    claude["max_tokens"] = 9.into();
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello" }] }] });
    for (path, body, place, word) in [
        (
            "/v1/responses",
            json!({ "model": "claude/model", "input": "Hello" }),
            "/error/code",
            "insufficient_quota",
        ),
        ("/v1/messages", claude, "/error/type", "rate_limit_error"),
        (
            "/v1beta/models/claude%2Fmodel:generateContent",
            gemini,
            "/error/status",
            "RESOURCE_EXHAUSTED",
        ),
    ] {
        let (status, headers, answer) = send(&gateway, &secret, Method::POST, path, &body).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{path}: {answer}");
        assert_eq!(
            answer.pointer(place),
            Some(&word.into()),
            "{path}: {answer}"
        );
        assert!(header(&headers, "retry-after").is_some(), "{path}");
    }
    // And by the API.
    let session = json!({});
    let (_, _, session) = send(
        &gateway,
        &secret,
        Method::POST,
        "/api/v1/sessions",
        &session,
    )
    .await;
    let session = session["id"].as_str().expect("an id");
    let path = format!("/api/v1/sessions/{session}/turns");
    let body = json!({ "message": "hi" });
    let (status, headers, problem) = send(&gateway, &secret, Method::POST, &path, &body).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(problem["type"], "urn:jackfield:problem:too_many");
    assert!(header(&headers, "retry-after").is_some());
}

#[tokio::test]
async fn the_answer_names_the_budget_of_the_chain_that_is_used_up() {
    let gateway = priced();
    let (id, secret) = ann(&gateway, &json!({ "cost_per_day": "1" })).await;
    limit(
        &gateway,
        "/api/v1/users/ann",
        json!({ "tokens_per_day": 2000 }),
    )
    .await;
    let month = json!({ "cost_per_month": "0.001" });
    limit(&gateway, "/api/v1/teams/research", month).await;
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::OK);
    let refused = async || {
        let (status, _, body) = ask(&gateway, &secret).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{body}");
        let message = body["error"]["message"].as_str().expect("text");
        let (budget, _) = message.split_once(',').expect("a sentence");
        budget.to_owned()
    };
    assert_eq!(refused().await, "the budget of the team `research`");
    limit(
        &gateway,
        "/api/v1/teams/research",
        json!({ "cost_per_month": "1" }),
    )
    .await;
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::OK);
    assert_eq!(refused().await, "the budget of the user `ann`");
    limit(&gateway, "/api/v1/users/ann", Value::Null).await;
    let path = format!("/api/v1/keys/{id}");
    limit(&gateway, &path, json!({ "cost_per_day": "0" })).await;
    assert_eq!(refused().await, format!("the budget of the key `{id}`"));
}

#[tokio::test]
async fn tokens_per_minute_are_a_rate() {
    let gateway = priced();
    let (_, secret) = ann(&gateway, &json!({ "tokens_per_minute": 1000 })).await;
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::OK);
    let (status, headers, body) = ask(&gateway, &secret).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{body}");
    assert_eq!(body["error"]["code"], "rate_limit_exceeded", "{body}");
    let wait: u64 = header(&headers, "retry-after")
        .and_then(|wait| wait.parse().ok())
        .expect("seconds");
    assert!((1..=120).contains(&wait), "{wait}");
    let (_, _, body) = send(
        &gateway,
        &secret,
        Method::GET,
        "/api/v1/budgets",
        &Value::Null,
    )
    .await;
    assert_eq!(body["budgets"][0]["period"], "minute", "{body}");
}

#[tokio::test]
async fn a_budget_of_money_wants_a_price_and_a_valid_amount() {
    let gateway = gateway(
        [ScriptedReply::text("free?"), ScriptedReply::text("free?")],
        |config| {
            config.api_keys = priced().config().api_keys.clone();
        },
    );
    let (id, secret) = ann(&gateway, &json!({ "cost_per_day": "1" })).await;
    let (status, _, body) = ask(&gateway, &secret).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    let message = body["error"]["message"].as_str().expect("text");
    assert!(message.contains("the price of `claude/model`"), "{message}");
    let line = "`prices.\"claude/model\" = { input = 1.00, output = 5.00 }`";
    assert!(message.contains(line), "{message}");
    let path = format!("/api/v1/keys/{id}");
    limit(&gateway, &path, json!({ "unpriced": "allow" })).await;
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::OK);
    let (_, _, budgets) = send(
        &gateway,
        &secret,
        Method::GET,
        "/api/v1/budgets",
        &Value::Null,
    )
    .await;
    assert_eq!(budgets["budgets"][0]["spent"], "0", "{budgets}");
    let (_, _, usage) = send(
        &gateway,
        "root",
        Method::GET,
        "/api/v1/usage?by=model",
        &Value::Null,
    )
    .await;
    assert!(
        usage["total"]["unpriced_tokens"].as_u64() > Some(0),
        "{usage}"
    );
    limit(&gateway, &path, json!({ "unpriced": "refuse" })).await;
    assert_eq!(ask(&gateway, &secret).await.0, StatusCode::BAD_REQUEST);
    // Without a budget of money, it is nothing.
    limit(
        &gateway,
        &path,
        json!({ "cost_per_day": null, "unpriced": "allow" }),
    )
    .await;
    let (_, _, key) = send(&gateway, "root", Method::GET, &path, &Value::Null).await;
    assert_eq!(key["quota"], Value::Null, "{key}");
    for quota in [
        json!({ "cost_per_day": "-1" }),
        json!({ "cost_per_month": "1e3" }),
        json!({ "cost_per_day": 1 }),
        json!({ "tokens_per_day": 0 }),
        json!({ "unpriced": true }),
        json!({ "tokens_per_month": -1 }),
    ] {
        let body = json!({ "quota": quota });
        let (status, _, answer) = send(&gateway, "root", Method::PATCH, &path, &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{quota}: {answer}");
    }
}

/// A client that lost the answer gets it again, although its own turn has used up the budget.
#[tokio::test]
async fn a_paid_answer_is_fetched_again_where_the_budget_is_used_up() {
    let gateway = priced();
    let (_, secret) = ann(&gateway, &json!({ "tokens_per_day": 1000 })).await;
    let asked = async |key: &str| {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/v1/chat/completions")
            .header("authorization", format!("Bearer {secret}"))
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(chat().to_string()))
            .expect("a request");
        let answered = router(&gateway).oneshot(request).await.expect("an answer");
        answered.status()
    };
    assert_eq!(asked("first").await, StatusCode::OK);
    assert_eq!(asked("first").await, StatusCode::OK);
    assert_eq!(asked("second").await, StatusCode::TOO_MANY_REQUESTS);
}
