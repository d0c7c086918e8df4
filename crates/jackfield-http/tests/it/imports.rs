//! A client brings conversations along: each is a session of its own, once, and a turn goes on with it.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_engine::ServerTools;
use jackfield_gateway::{ApiKeys, Gateway};
use jackfield_http::router;
use jackfield_testkit::fakes::ScriptedReply;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::harness::{gateway, principal};

fn with_keys(replies: impl IntoIterator<Item = ScriptedReply>) -> Gateway {
    gateway(replies, |config| {
        let key = |name: &str| {
            let client = principal(name, ServerTools::None);
            (Digest::of(name.as_bytes()), client)
        };
        config.api_keys = ApiKeys::new([key("ann"), key("ben")]);
    })
}

async fn send(
    gateway: &Gateway,
    key: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()));
    let answered = router(gateway).oneshot(request.expect("a request"));
    let response = answered.await.expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body");
    (
        status,
        serde_json::from_slice(&body.to_bytes()).unwrap_or_default(),
    )
}

fn conversation() -> Value {
    let message = |role: &str, content: Value| json!({ "author": { "role": role }, "content": { "content_type": "text", "parts": content } });
    let picture = json!({ "content_type": "image_asset_pointer" });
    json!({
        "title": "Plans for\nMay",
        "create_time": 1_746_230_400,
        "id": "c-1",
        "current_node": "b",
        "mapping": {
            "a": { "parent": null, "message": message("user", json!(["Where to?", picture])) },
            "b": { "parent": "a", "message": message("assistant", json!(["To Rome."])) },
        },
    })
}

async fn import(gateway: &Gateway, key: &str, conversations: &Value) -> Value {
    let body = json!({ "conversations": conversations });
    let (status, report) = send(gateway, key, "POST", "/api/v1/sessions/import", &body).await;
    assert_eq!(status, 200, "{report}");
    report["conversations"].clone()
}

#[tokio::test]
async fn a_turn_goes_on_with_a_conversation_that_was_brought_along() {
    let gateway = with_keys([ScriptedReply::text("By train.")]);
    let outcomes = import(&gateway, "ann", &json!([{ "title": 7 }, conversation()])).await;
    assert_eq!(outcomes[0]["status"], "failed");
    assert_eq!(outcomes[1]["status"], "imported", "{outcomes}");
    assert_eq!(
        outcomes[1]["left_out"],
        json!([{ "kind": "picture", "count": 1 }])
    );
    let session = outcomes[1]["session"].as_str().expect("a session");
    let path = format!("/api/v1/sessions/{session}");
    let (_, view) = send(&gateway, "ann", "GET", &path, &Value::Null).await;
    assert_eq!(view["title"], "Plans for May");
    assert_eq!(
        view["imported_from"],
        json!({ "source": "ChatGPT", "created": "2025-05-03T00:00:00.000Z" })
    );
    let turns = format!("{path}/turns");
    let asked = json!({ "message": "How?" });
    let (status, turn) = send(&gateway, "ann", "POST", &turns, &asked).await;
    assert_eq!(
        (status, &turn["answer"]),
        (200, &json!("By train.")),
        "{turn}"
    );
    let export = format!("{path}/export");
    let (_, export) = send(&gateway, "ann", "GET", &export, &Value::Null).await;
    assert_eq!(
        export["before"].as_array().map(Vec::len),
        Some(2),
        "{export}"
    );
    assert_eq!(export["imported_from"]["source"], "ChatGPT");
}

#[tokio::test]
async fn a_conversation_is_one_session_for_each_client_until_it_is_deleted() {
    let gateway = with_keys([]);
    let one = json!([conversation()]);
    let first = import(&gateway, "ann", &one).await;
    let again = import(&gateway, "ann", &one).await;
    assert_eq!(again[0]["status"], "exists");
    assert_eq!(again[0]["session"], first[0]["session"]);
    let bens = import(&gateway, "ben", &one).await;
    assert_eq!(bens[0]["status"], "imported");
    assert_ne!(bens[0]["session"], first[0]["session"]);
    let session = first[0]["session"].as_str().expect("a session");
    let path = format!("/api/v1/sessions/{session}");
    assert_eq!(
        send(&gateway, "ben", "GET", &path, &Value::Null).await.0,
        404
    );
    assert_eq!(
        send(&gateway, "ann", "DELETE", &path, &Value::Null).await.0,
        204
    );
    let back = import(&gateway, "ann", &one).await;
    assert_eq!(back[0]["status"], "imported");
    assert_eq!(back[0]["session"], first[0]["session"]);
}

#[tokio::test]
async fn a_client_that_sends_too_many_at_once_or_none_is_refused() {
    let gateway = with_keys([]);
    for body in [
        json!({ "conversations": vec![0; 101] }),
        json!({}),
        json!([conversation()]),
    ] {
        let (status, _) = send(&gateway, "ann", "POST", "/api/v1/sessions/import", &body).await;
        assert_eq!(status, 400, "{body}");
    }
}
