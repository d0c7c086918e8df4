//! Users and keys of the directory: who is let in, in each language, and two people side by side.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::EntryName;
use jackfield_engine::KeyOptions;
use jackfield_gateway::{ApiKeys, Gateway};
use jackfield_http::router;
use jackfield_testkit::fakes::ScriptedReply;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::harness::{admin, gateway};

/// A gateway with the users Ann and Ben, and their secrets; Root is an admin of the configuration.
async fn with_people() -> (Gateway, String, String) {
    let replies = (0..20).map(|_| ScriptedReply::text("Good day"));
    let gateway = gateway(replies, |config| {
        let root = admin();
        config.api_keys = ApiKeys::new([(Digest::of(b"root"), root)]);
    });
    let mut secrets = Vec::new();
    for user in ["ann", "ben"] {
        let body = json!({ "name": user });
        let (status, _) = send(&gateway, "root", Method::POST, "/api/v1/users", &body).await;
        assert_eq!(status, StatusCode::CREATED);
        secrets.push(made(&gateway, &json!({ "user": user })).await.1);
    }
    let ben = secrets.pop().expect("a secret");
    (gateway, secrets.pop().expect("a secret"), ben)
}

/// Makes a key; its id and its secret.
async fn made(gateway: &Gateway, body: &Value) -> (String, String) {
    let (status, key) = send(gateway, "root", Method::POST, "/api/v1/keys", body).await;
    assert_eq!(status, StatusCode::CREATED, "{key}");
    let text = |field: &str| key[field].as_str().expect("text").to_owned();
    (text("id"), text("secret"))
}

async fn answer(
    gateway: &Gateway,
    headers: &[(&str, &str)],
    method: Method,
    path: &str,
    body: &Value,
) -> Response {
    answer_of(router(gateway), headers, method, path, body).await
}

async fn answer_of(
    router: Router,
    headers: &[(&str, &str)],
    method: Method,
    path: &str,
    body: &Value,
) -> Response {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.header("content-type", "application/json");
    let body = if body.is_null() {
        Body::empty()
    } else {
        Body::from(body.to_string())
    };
    let request = request.body(body).expect("a request");
    let answered = router.oneshot(request).await;
    answered.expect("an answer")
}

async fn send(
    gateway: &Gateway,
    token: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> (StatusCode, Value) {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", &*bearer)];
    let response = answer(gateway, &headers, method, path, body).await;
    let status = response.status();
    let body = response.into_body().collect().await.expect("a body");
    let text = body.to_bytes();
    (status, serde_json::from_slice(&text).unwrap_or(Value::Null))
}

fn chat() -> Value {
    json!({ "model": "claude/model", "messages": [{ "role": "user", "content": "Hello" }] })
}

#[tokio::test]
async fn a_key_is_accepted_by_every_header_until_it_is_revoked_in_each_language() {
    let (gateway, ann, _) = with_people().await;
    let (id, secret) = made(&gateway, &json!({ "user": "ann" })).await;
    let languages = [
        ("authorization", "/v1/chat/completions", chat()),
        (
            "authorization",
            "/v1/responses",
            json!({ "model": "claude/model", "input": "Hello" }),
        ),
        (
            "x-api-key",
            "/v1/messages",
            json!({
                "model": "claude/model",
                "max_tokens": 9,
                "messages": [{ "role": "user", "content": "Hello" }],
            }),
        ),
        (
            "x-goog-api-key",
            "/v1beta/models/claude/model:generateContent",
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello" }] }] }),
        ),
    ];
    let ask = async |header: &str, path: &str, secret: &str, body: &Value| {
        let value = match header {
            "authorization" => format!("Bearer {secret}"),
            _ => secret.to_owned(),
        };
        let response = answer(&gateway, &[(header, &value)], Method::POST, path, body).await;
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body");
        let body: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
        (status, body)
    };
    for (header, path, body) in &languages {
        let (status, answer) = ask(header, path, &secret, body).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
    }
    let path = format!("/api/v1/keys/{id}");
    let (status, key) = send(&gateway, "root", Method::DELETE, &path, &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        key["revoked"].is_string() && key.get("secret").is_none(),
        "{key}"
    );
    let kinds = [
        "invalid_api_key",
        "invalid_api_key",
        "authentication_error",
        "UNAUTHENTICATED",
    ];
    for ((header, path, body), kind) in languages.iter().zip(kinds) {
        let unknown = format!("jk_{}", "0".repeat(64));
        for (secret, why) in [
            (&*secret, "this key was revoked"),
            (
                &unknown,
                "this key is not one of those that the gateway knows",
            ),
        ] {
            let (status, answer) = ask(header, path, secret, body).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}: {answer}");
            let answer = answer.to_string();
            assert!(answer.contains(kind), "{path}: {answer}");
            assert!(answer.contains(why), "{path}: {answer}");
        }
    }
    // Ann's other key is as it was.
    let (status, _) = send(
        &gateway,
        &ann,
        Method::POST,
        "/v1/chat/completions",
        &chat(),
    )
    .await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn two_people_never_meet() {
    let (gateway, ann, ben) = with_people().await;
    let (status, session) =
        send(&gateway, &ann, Method::POST, "/api/v1/sessions", &json!({})).await;
    assert_eq!(status, StatusCode::CREATED);
    let session = format!(
        "/api/v1/sessions/{}",
        session["id"].as_str().expect("an id")
    );
    let (_, keys) = send(&gateway, &ann, Method::GET, "/api/v1/keys", &Value::Null).await;
    let keys = keys["keys"].as_array().expect("keys").clone();
    let [key] = &*keys else {
        panic!("Ann sees one key: {keys:?}");
    };
    assert_eq!(key["user"], "ann");
    let key = format!("/api/v1/keys/{}", key["id"].as_str().expect("an id"));
    let turn = json!({ "message": "hi" });
    let none = Value::Null;
    for (method, path, body) in [
        (Method::GET, session.clone(), &none),
        (Method::DELETE, session.clone(), &none),
        (Method::GET, format!("{session}/export"), &none),
        (Method::POST, format!("{session}/turns"), &turn),
        (Method::GET, key.clone(), &none),
        (Method::DELETE, key.clone(), &none),
        (Method::GET, "/api/v1/keys/k000000000000".to_owned(), &none),
        (Method::GET, "/api/v1/keys/%2e%2e".to_owned(), &none),
    ] {
        let (status, answer) = send(&gateway, &ben, method, &path, body).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}: {answer}");
    }
    // What is there for both is the same as what is not there at all.
    let (_, mine) = send(&gateway, &ben, Method::GET, &key, &none).await;
    let (_, nothing) = send(
        &gateway,
        &ben,
        Method::GET,
        "/api/v1/keys/k000000000000",
        &none,
    )
    .await;
    let id = key.rsplit('/').next().expect("an id");
    let detail = mine["detail"].as_str().expect("text");
    assert_eq!(
        detail.replace(id, "k000000000000"),
        nothing["detail"].as_str().expect("text")
    );
    for (method, path, body) in [
        (Method::GET, "/api/v1/users", none.clone()),
        (Method::GET, "/api/v1/users/ann", none.clone()),
        (Method::POST, "/api/v1/users", json!({ "name": "eve" })),
        (
            Method::PATCH,
            "/api/v1/users/ann",
            json!({ "disabled": true }),
        ),
        (Method::GET, "/api/v1/teams", none.clone()),
        (Method::POST, "/api/v1/teams", json!({ "name": "evil" })),
        (
            Method::POST,
            "/api/v1/keys",
            json!({ "user": "ben", "admin": true }),
        ),
        (Method::POST, &*format!("{key}/rotate"), none.clone()),
        (Method::GET, "/api/v1/changes", none.clone()),
    ] {
        let (status, answer) = send(&gateway, &ben, method, path, &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {answer}");
    }
    // Ann's key is as it was, until she revokes it herself.
    let (status, _) = send(&gateway, &ann, Method::GET, &session, &none).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = send(&gateway, &ann, Method::DELETE, &key, &none).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = send(&gateway, &ann, Method::GET, &session, &none).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_keys_of_a_user_share_its_sessions() {
    let (gateway, ann, _) = with_people().await;
    let (_, other) = made(&gateway, &json!({ "user": "ann" })).await;
    let (_, session) = send(&gateway, &ann, Method::POST, "/api/v1/sessions", &json!({})).await;
    let path = format!(
        "/api/v1/sessions/{}",
        session["id"].as_str().expect("an id")
    );
    let (status, _) = send(&gateway, &other, Method::GET, &path, &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_page_of_sessions_goes_on_for_whom_it_was_made_alone() {
    let (gateway, ann, ben) = with_people().await;
    for _ in 0..2 {
        send(&gateway, &ann, Method::POST, "/api/v1/sessions", &json!({})).await;
    }
    let list = async |secret: &str, query: &str| {
        let path = format!("/api/v1/sessions?limit=1{query}");
        send(&gateway, secret, Method::GET, &path, &Value::Null).await
    };
    let (_, first) = list(&ann, "").await;
    let next = format!("&page={}", first["next"].as_str().expect("another page"));
    let (status, second) = list(&ann, &next).await;
    assert_eq!(status, StatusCode::OK);
    assert_ne!(second["sessions"][0]["id"], first["sessions"][0]["id"]);
    let session = first["sessions"][0]["id"].as_str().expect("an id");
    for page in [next, format!("&page=1.{session}"), "&page=x".to_owned()] {
        let (status, _) = list(&ben, &page).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{page}");
    }
}

#[tokio::test]
async fn a_key_uses_the_models_that_it_names_alone() {
    let (gateway, ..) = with_people().await;
    let ask = async |secret: &str, model: &str| {
        let mut body = chat();
        body["model"] = model.into();
        send(
            &gateway,
            secret,
            Method::POST,
            "/v1/chat/completions",
            &body,
        )
        .await
    };
    let (_, narrow) = made(&gateway, &json!({ "user": "ann", "models": ["claude/m*"] })).await;
    let (_, nothing) = made(&gateway, &json!({ "user": "ann", "models": [] })).await;
    for (secret, model, expected) in [
        (&narrow, "claude/model", StatusCode::OK),
        // The same model, without its provider.
        (&narrow, "model", StatusCode::OK),
        (&narrow, "claude/other", StatusCode::FORBIDDEN),
        // The assistant has a name of its own.
        (&narrow, "jackfield", StatusCode::FORBIDDEN),
        (&nothing, "claude/model", StatusCode::FORBIDDEN),
    ] {
        let (status, answer) = ask(secret, model).await;
        assert_eq!(status, expected, "{model}: {answer}");
    }
    for (path, of_turns) in [
        ("/v1/messages/count_tokens", false),
        ("/api/v1/sessions", true),
    ] {
        let path = if of_turns {
            let (_, made) = send(&gateway, &nothing, Method::POST, path, &json!({})).await;
            format!("{path}/{}/turns", made["id"].as_str().expect("an id"))
        } else {
            path.to_owned()
        };
        let mut body = chat();
        if of_turns {
            body = json!({ "message": "hi", "model": "claude/model" });
        }
        let (status, answer) = send(&gateway, &nothing, Method::POST, &path, &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {answer}");
    }
    let names = async |secret: &str| {
        let (_, listed) = send(&gateway, secret, Method::GET, "/v1/models", &Value::Null).await;
        let models = listed["data"].as_array().expect("models").clone();
        let names = models
            .iter()
            .map(|model| model["id"].as_str().expect("a name").to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&narrow).await, ["claude/model"]);
    assert_eq!(names(&nothing).await, [""; 0]);
}

#[tokio::test]
async fn an_open_gateway_closes_with_the_first_key() {
    let gateway = gateway([], |_| {});
    let list = async |token: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<(&str, &str)> = bearer
            .iter()
            .map(|bearer| ("authorization", bearer.as_str()))
            .collect();
        let path = "/api/v1/sessions";
        let response = answer(&gateway, &headers, Method::GET, path, &Value::Null).await;
        response.status()
    };
    let by = "admin".into();
    let directory = gateway.engine().directory().expect("a directory");
    let ann = EntryName::parse("ann").expect("a name");
    assert_eq!(list(None).await, StatusCode::OK);
    assert_eq!(list(Some("anything")).await, StatusCode::OK);
    // What looks like a key has to be one.
    assert_eq!(list(Some("jk_0")).await, StatusCode::UNAUTHORIZED);
    directory
        .add_user(&by, ann.clone(), None)
        .await
        .expect("a user");
    assert_eq!(list(None).await, StatusCode::OK);
    let made = directory.create_key(&by, &ann, KeyOptions::default());
    let (key, secret) = made.await.expect("a key");
    assert_eq!(list(None).await, StatusCode::UNAUTHORIZED);
    assert_eq!(list(Some("anything")).await, StatusCode::UNAUTHORIZED);
    assert_eq!(list(Some(secret.reveal())).await, StatusCode::OK);
    directory.revoke_key(&by, &key.id).await.expect("revoked");
    assert_eq!(list(None).await, StatusCode::UNAUTHORIZED);
    assert_eq!(list(Some(secret.reveal())).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test(start_paused = true)]
async fn open_streams_end_when_their_key_is_revoked() {
    let (gateway, ann, ben) = with_people().await;
    let (id, secret) = made(&gateway, &json!({ "user": "ann" })).await;
    let sessions = "/api/v1/sessions";
    let (_, session) = send(&gateway, &ann, Method::POST, sessions, &json!({})).await;
    let session = session["id"].as_str().expect("an id");
    let events = format!("/api/v1/sessions/{session}/events");
    // The sessions of `/mcp` belong to it.
    let router = router(&gateway);
    let initialize = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "c", "version": "1" },
        },
    });
    let accept = ("accept", "application/json, text/event-stream");
    let bearer = format!("Bearer {secret}");
    let headers = [("authorization", &*bearer), accept];
    let begun = answer_of(router.clone(), &headers, Method::POST, "/mcp", &initialize).await;
    let mcp = begun.headers()["mcp-session-id"].clone();
    let mcp = ("mcp-session-id", mcp.to_str().expect("text"));
    let mut open = Vec::new();
    for path in ["/api/v1/approvals/events", &events, "/mcp"] {
        let headers = [("authorization", &*bearer), accept, mcp];
        let stream = answer_of(router.clone(), &headers, Method::GET, path, &Value::Null).await;
        assert_eq!(stream.status(), StatusCode::OK, "{path}");
        open.push(stream);
    }
    let bearer = format!("Bearer {ben}");
    let headers = [("authorization", &*bearer)];
    let path = "/api/v1/approvals/events";
    let mut other = answer_of(router.clone(), &headers, Method::GET, path, &Value::Null).await;
    // While the key is accepted, a stream goes on for an hour.
    let hour = Duration::from_secs(3600);
    let mut frames = 0;
    let reading = async {
        while let Some(Ok(_)) = open[0].frame().await {
            frames += 1;
        }
    };
    let elapsed = timeout(hour, reading).await;
    assert!(elapsed.is_err() && frames > 100, "{frames}");
    let key = format!("/api/v1/keys/{id}");
    let (status, _) = send(&gateway, "root", Method::DELETE, &key, &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    for stream in open {
        let whole = timeout(Duration::from_secs(11), stream.into_body().collect()).await;
        whole.expect("the stream ends").expect("a body");
    }
    let reading = async { while let Some(Ok(_)) = other.frame().await {} };
    let elapsed = timeout(hour, reading).await;
    assert!(elapsed.is_err(), "the stream of another key ends");
}

#[tokio::test]
async fn a_login_ends_with_its_key() {
    let (gateway, ann, _) = with_people().await;
    let bearer = format!("Bearer {ann}");
    let headers = [("authorization", &*bearer)];
    let response = answer(
        &gateway,
        &headers,
        Method::POST,
        "/api/v1/login",
        &Value::Null,
    )
    .await;
    let cookie = response.headers()["set-cookie"].to_str().expect("text");
    let cookie = cookie.split(';').next().expect("a cookie").to_owned();
    let list = async || {
        let headers = [("cookie", &*cookie), ("sec-fetch-site", "same-origin")];
        let path = "/api/v1/sessions";
        let response = answer(&gateway, &headers, Method::GET, path, &Value::Null).await;
        response.status()
    };
    assert_eq!(list().await, StatusCode::OK);
    let path = "/api/v1/users/ann";
    for (disabled, expected) in [(true, StatusCode::UNAUTHORIZED), (false, StatusCode::OK)] {
        let body = json!({ "disabled": disabled });
        send(&gateway, "root", Method::PATCH, path, &body).await;
        assert_eq!(list().await, expected);
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said() {
    let (gateway, ..) = with_people().await;
    for (method, path, body, expected, says) in [
        (
            Method::POST,
            "/api/v1/users",
            json!({ "name": "Ann" }),
            StatusCode::BAD_REQUEST,
            "`Ann` cannot be a name",
        ),
        (
            Method::POST,
            "/api/v1/users",
            json!({ "name": "ann" }),
            StatusCode::CONFLICT,
            "there is a user `ann` already",
        ),
        (
            Method::POST,
            "/api/v1/users",
            json!({ "name": "eve", "team": "none" }),
            StatusCode::NOT_FOUND,
            "there is no team `none`",
        ),
        (
            Method::POST,
            "/api/v1/keys",
            json!({ "user": "ann", "expires": "2001-01-01T00:00:00Z" }),
            StatusCode::BAD_REQUEST,
            "a time to come",
        ),
        (
            Method::POST,
            "/api/v1/keys",
            json!({ "user": "ann", "models": [""] }),
            StatusCode::BAD_REQUEST,
            "/models",
        ),
        (
            Method::POST,
            "/api/v1/keys",
            json!({ "user": "ann", "scopes": [] }),
            StatusCode::BAD_REQUEST,
            "scopes",
        ),
        (
            Method::GET,
            "/api/v1/users?limit=0",
            Value::Null,
            StatusCode::BAD_REQUEST,
            "between 1 and 200",
        ),
        (
            Method::GET,
            "/api/v1/own-servers?user=anne",
            Value::Null,
            StatusCode::NOT_FOUND,
            "there is no user `anne`",
        ),
        (
            Method::GET,
            "/api/v1/own-servers?team=none",
            Value::Null,
            StatusCode::NOT_FOUND,
            "there is no team `none`",
        ),
        (
            Method::GET,
            "/api/v1/own-servers?user=Ann",
            Value::Null,
            StatusCode::BAD_REQUEST,
            "\"parameter\":\"user\"",
        ),
        (
            Method::DELETE,
            "/api/v1/own-servers/a?team=A%20b",
            Value::Null,
            StatusCode::BAD_REQUEST,
            "\"parameter\":\"team\"",
        ),
        (
            Method::DELETE,
            "/api/v1/own-servers/a?user=ann",
            Value::Null,
            StatusCode::NOT_FOUND,
            "there is no server `user:ann/a`",
        ),
        (
            Method::GET,
            "/api/v1/own-servers",
            Value::Null,
            StatusCode::FORBIDDEN,
            "only users have servers of their own",
        ),
    ] {
        let (status, problem) = send(&gateway, "root", method, path, &body).await;
        assert_eq!(status, expected, "{problem}");
        assert!(problem.to_string().contains(says), "{problem}");
    }
}

#[tokio::test]
async fn pages_go_on_and_changes_name_their_authors() {
    let (gateway, ..) = with_people().await;
    let get = async |path: &str| {
        send(&gateway, "root", Method::GET, path, &Value::Null)
            .await
            .1
    };
    let first = get("/api/v1/users?limit=1").await;
    assert_eq!(
        (&first["users"][0]["name"], &first["next"]),
        (&json!("ann"), &json!("ann"))
    );
    let second = get("/api/v1/users?limit=1&after=ann").await;
    assert_eq!(second["users"][0]["name"], "ben");
    assert_eq!(
        get("/api/v1/users?limit=1&after=ben").await,
        json!({ "users": [], "next": null })
    );
    let changes = get("/api/v1/changes?limit=3").await;
    let seen: Vec<_> = changes["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|change| {
            (
                change["action"].clone(),
                change["kind"].clone(),
                change["by"].clone(),
            )
        })
        .collect();
    assert_eq!(changes["changes"][1]["name"], "ben");
    let by = |action: &str, kind: &str| (action.into(), kind.into(), "root, by the API".into());
    assert_eq!(
        seen,
        [
            by("created", "key"),
            by("created", "user"),
            by("created", "key")
        ]
    );
    let rest = get(&format!("/api/v1/changes?before={}", changes["next"])).await;
    assert_eq!(rest["changes"].as_array().expect("changes").len(), 1);
}

#[tokio::test]
async fn the_requests_of_a_key_a_user_and_a_team_are_limited() {
    let (gateway, ann, ben) = with_people().await;
    let root = async |method, path: &str, body: Value| {
        let (status, answer) = send(&gateway, "root", method, path, &body).await;
        assert!(status.is_success(), "{path}: {answer}");
        answer
    };
    root(Method::POST, "/api/v1/teams", json!({ "name": "both" })).await;
    for user in ["ann", "ben"] {
        let path = format!("/api/v1/users/{user}");
        root(Method::PATCH, &path, json!({ "team": "both" })).await;
    }
    let limit = |requests: u32| json!({ "quota": { "requests_per_minute": requests } });
    let team = root(Method::PATCH, "/api/v1/teams/both", limit(3)).await;
    assert_eq!(
        team["quota"],
        json!({
            "requests_per_minute": 3, "parallel": null, "tokens_per_minute": null, "cost_per_day": null,
            "cost_per_month": null, "tokens_per_day": null, "tokens_per_month": null,
            "unpriced": "refuse",
        })
    );
    let more = json!({ "quota": { "parallel": 9, "cost_per_day": "2.50" } });
    root(Method::PATCH, "/api/v1/users/ann", more).await;
    let ann_now = root(Method::PATCH, "/api/v1/users/ann", limit(2)).await;
    // What is not named stays, and `null` takes a limit away.
    assert_eq!(ann_now["quota"]["parallel"], 9, "{ann_now}");
    assert_eq!(ann_now["quota"]["cost_per_day"], "2.5", "{ann_now}");
    let less = json!({ "quota": { "parallel": null, "cost_per_day": null } });
    let ann_now = root(Method::PATCH, "/api/v1/users/ann", less).await;
    assert_eq!(ann_now["quota"]["parallel"], Value::Null, "{ann_now}");
    assert_eq!(ann_now["quota"]["requests_per_minute"], 2, "{ann_now}");
    let ask = async |secret: &str| {
        let path = "/v1/chat/completions";
        let bearer = format!("Bearer {secret}");
        let headers = [("authorization", &*bearer)];
        let response = answer(&gateway, &headers, Method::POST, path, &chat()).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let wait = head.headers.get("retry-after");
        let wait: Option<u64> =
            wait.map(|wait| wait.to_str().expect("text").parse().expect("a number"));
        (head.status.as_u16(), wait, body)
    };
    let (_, second) = made(&gateway, &json!({ "user": "ann" })).await;
    assert_eq!(ask(&ann).await.0, 200);
    // All keys of a user together.
    assert_eq!(ask(&second).await.0, 200);
    let (status, wait, body) = ask(&ann).await;
    assert_eq!(status, 429);
    assert!(
        wait.is_some_and(|wait| (25..=30).contains(&wait)),
        "{wait:?}"
    );
    assert_eq!(body["error"]["code"], "rate_limit_exceeded");
    let message =
        "the requests of the user of this key are limited to 2 per minute: come again later";
    assert_eq!(body["error"]["message"], message);
    // What was refused to Ann is left to Ben, of the team.
    assert_eq!(ask(&ben).await.0, 200);
    let (status, _, body) = ask(&ben).await;
    assert_eq!(status, 429);
    let message = body["error"]["message"].as_str().expect("text");
    assert!(
        message.starts_with("the requests of the team `both`"),
        "{message}"
    );
    // In the other languages, and by the API.
    let claude = json!({
        "model": "claude/model",
        "max_tokens": 9,
        "messages": [{ "role": "user", "content": "Hello" }],
    });
    let (status, body) = send(&gateway, &ben, Method::POST, "/v1/messages", &claude).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(body["error"]["type"], "rate_limit_error");
    let path = "/api/v1/sessions";
    let (status, body) = send(&gateway, &ben, Method::POST, path, &json!({})).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(body["type"], "urn:jackfield:problem:too_many");
    // For an MCP client it is a JSON-RPC error.
    let bearer = format!("Bearer {ben}");
    let accept = ("accept", "application/json, text/event-stream");
    let headers = [("authorization", &*bearer), accept];
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let response = answer(&gateway, &headers, Method::POST, "/mcp", &ping).await;
    let (head, body) = response.into_parts();
    assert_eq!(head.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(head.headers.contains_key("retry-after"), "{head:?}");
    let body = body.collect().await.expect("a body").to_bytes();
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let message = body["error"]["message"].as_str().expect("text");
    assert!(
        message.starts_with("the requests of the team `both` are limited to 3 per minute"),
        "{body}"
    );
    assert_eq!(body["id"], Value::Null);
    // Without limits, and for those who have none, everything is as before.
    for path in ["/api/v1/teams/both", "/api/v1/users/ann"] {
        root(Method::PATCH, path, json!({ "quota": null })).await;
    }
    assert_eq!(ask(&ann).await.0, 200);
    assert_eq!(ask("root").await.0, 200);
    for quota in [json!({ "parallel": 0 }), json!({ "tokens": 1 }), json!(1)] {
        let body = json!({ "quota": quota });
        let (status, _) = send(&gateway, "root", Method::PATCH, "/api/v1/users/ann", &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    }
}

#[tokio::test]
async fn a_request_counts_until_its_last_byte_was_sent() {
    let (gateway, ..) = with_people().await;
    let quota = json!({ "user": "ann", "quota": { "parallel": 1 } });
    let (_, secret) = made(&gateway, &quota).await;
    let bearer = format!("Bearer {secret}");
    let headers = [("authorization", &*bearer)];
    let path = "/v1/chat/completions";
    let mut streamed = chat();
    streamed["stream"] = true.into();
    let open = answer(&gateway, &headers, Method::POST, path, &streamed).await;
    assert_eq!(open.status(), StatusCode::OK);
    let refused = answer(&gateway, &headers, Method::POST, path, &chat()).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    // Reading is no request to a model.
    let read = answer(&gateway, &headers, Method::GET, "/v1/models", &Value::Null).await;
    assert_eq!(read.status(), StatusCode::OK);
    open.into_body().collect().await.expect("a body");
    // It is released in the background.
    let again = async {
        loop {
            let response = answer(&gateway, &headers, Method::POST, path, &chat()).await;
            if response.status() == StatusCode::OK {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let again = timeout(Duration::from_secs(60), again).await;
    again.expect("the next request is admitted");
}
