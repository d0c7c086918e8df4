//! Equal requests with an idempotency key at two gateways on one journal, of which the second one is held up at each
//! place between its look for the key and the beginning of its turn.

use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::request::ModelRef;
use jackfield_engine::{Engine, TurnOptions};
use jackfield_gateway::{Gateway, GatewayConfig};
use jackfield_http::router;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{FaultyJournal, ScriptedModel, ScriptedReply};
use jackfield_testkit::server::Gate;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::harness::PROVIDER;

/// Two gateways in front of one model, on one journal; what the second one asks of it can be held up.
struct Two {
    first: Gateway,
    held: FaultyJournal,
    model: ScriptedModel,
    second: Gateway,
}

impl Two {
    fn new() -> Self {
        let model = ScriptedModel::new();
        for nth in 0..9 {
            model.push_reply(ScriptedReply::text(&format!("reply {nth}")));
        }
        let journal = MemoryJournal::default();
        let held = FaultyJournal::new(Arc::new(journal.another_process()));
        Self {
            first: gateway(Arc::new(journal), &model),
            second: gateway(Arc::new(held.clone()), &model),
            held,
            model,
        }
    }

    /// How many turns the journal has.
    async fn turns(&self) -> u64 {
        let listed = send(
            &self.first,
            Method::GET,
            "/api/v1/sessions?limit=100",
            None,
            &json!(null),
        );
        let (_, listed) = listed.await;
        let sessions = listed["sessions"].as_array().expect("a list");
        sessions
            .iter()
            .filter_map(|session| session["turns"].as_u64())
            .sum()
    }
}

fn gateway(journal: Arc<dyn Journal>, model: &ScriptedModel) -> Gateway {
    let engine = Engine::builder(journal)
        .model(PROVIDER, model.port())
        .build();
    let config = GatewayConfig::new(TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: PROVIDER.into(),
    }));
    Gateway::new(
        engine,
        Arc::new(MemoryJournal::default().ephemeral()),
        config,
    )
}

async fn send(
    gateway: &Gateway,
    method: Method,
    path: &str,
    key: Option<&str>,
    body: &Value,
) -> (StatusCode, Value) {
    let mut request = Request::builder().method(method).uri(path);
    request = match key {
        Some(key) => request.header("idempotency-key", key),
        // So the conversation is kept.
        None if path == CHAT => request.header("x-session-id", "new"),
        None => request,
    };
    let request = request
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .expect("a request");
    let answered = router(gateway).oneshot(request).await.expect("an answer");
    let (head, body) = answered.into_parts();
    let text = body.collect().await.expect("a body").to_bytes();
    (
        head.status,
        serde_json::from_slice(&text).unwrap_or(Value::Null),
    )
}

/// Where the second gateway is held up.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Before it owns the session.
    Ownership,
    /// After it has read the session.
    Read,
}

/// Sends a request to the second gateway, and to the first one while that is held up. Returns both answers.
async fn at_both(two: &Two, place: Place, path: &str, body: &Value) -> [Value; 2] {
    let gate = Gate::new();
    match place {
        Place::Ownership => two.held.hold_ownership(&gate),
        Place::Read => two.held.hold_next_load(&gate),
    };
    let late = send(&two.second, Method::POST, path, Some("key"), body);
    let early = async {
        gate.reached().await;
        let answered = send(&two.first, Method::POST, path, Some("key"), body).await;
        gate.open();
        answered
    };
    let answers: [_; 2] = tokio::join!(late, early).into();
    answers.map(|(status, answer)| {
        assert_eq!(status, StatusCode::OK, "{place:?}: {answer}");
        answer
    })
}

const CHAT: &str = "/v1/chat/completions";
const PLACES: [Place; 2] = [Place::Ownership, Place::Read];

fn chat(messages: &[Value]) -> Value {
    json!({ "model": "claude/model", "messages": messages })
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// A conversation with one turn, as its client has it.
async fn conversation(two: &Two) -> Vec<Value> {
    let mut messages = vec![user("One?")];
    let (status, first) = send(&two.first, Method::POST, CHAT, None, &chat(&messages)).await;
    assert_eq!(status, StatusCode::OK, "{first}");
    messages.push(first["choices"][0]["message"].clone());
    messages
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_continued_once() {
    for place in PLACES {
        let two = Two::new();
        let mut messages = conversation(&two).await;
        messages.push(user("Two?"));
        let [late, early] = at_both(&two, place, CHAT, &chat(&messages)).await;
        assert_eq!(late["id"], early["id"], "{place:?}");
        assert_eq!(
            (two.turns().await, two.model.requests().len()),
            (2, 2),
            "{place:?}"
        );
    }
}

/// The conversation has continued, so each gateway makes a fork of it.
#[tokio::test(start_paused = true)]
async fn a_conversation_is_forked_once() {
    for place in PLACES {
        let two = Two::new();
        let mut messages = conversation(&two).await;
        messages.push(user("Two?"));
        let continued = chat(&messages);
        let (status, other) = send(&two.first, Method::POST, CHAT, Some("other"), &continued).await;
        assert_eq!(status, StatusCode::OK, "{other}");
        messages.pop();
        messages.push(user("Or three?"));
        let [late, early] = at_both(&two, place, CHAT, &chat(&messages)).await;
        assert_eq!(late["id"], early["id"], "{place:?}");
        assert_eq!(
            (two.turns().await, two.model.requests().len()),
            (3, 3),
            "{place:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_posted_to_a_session_begins_once() {
    for place in PLACES {
        let two = Two::new();
        let (status, made) = send(
            &two.first,
            Method::POST,
            "/api/v1/sessions",
            None,
            &json!({}),
        )
        .await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        let path = format!(
            "/api/v1/sessions/{}/turns",
            made["id"].as_str().expect("an id")
        );
        let (_, first) = send(
            &two.first,
            Method::POST,
            &path,
            None,
            &json!({ "message": "One?" }),
        )
        .await;
        assert_eq!(first["answer"], "reply 0", "{first}");
        let [late, early] = at_both(&two, place, &path, &json!({ "message": "Two?" })).await;
        assert_eq!(
            (&late["id"], &late["answer"]),
            (&early["id"], &early["answer"]),
            "{place:?}"
        );
        assert_eq!(
            (two.turns().await, two.model.requests().len()),
            (2, 2),
            "{place:?}"
        );
    }
}

/// The stream for the AI SDK makes a key of the message: the first one of a chat, and a later one.
#[tokio::test(start_paused = true)]
async fn a_message_of_a_chat_begins_one_turn() {
    const PATH: &str = "/api/v1/ui/chat";
    let two = Two::new();
    let mut messages = Vec::new();
    for (nth, place) in [Place::Ownership, Place::Ownership, Place::Read]
        .into_iter()
        .enumerate()
    {
        let text = format!("{nth}?");
        messages.push(json!({ "id": format!("m{nth}"), "role": "user",
            "parts": [{ "type": "text", "text": text }] }));
        let body = json!({ "id": "chat", "messages": messages });
        at_both(&two, place, PATH, &body).await;
        let turns = u64::try_from(nth).unwrap_or_default() + 1;
        assert_eq!(two.turns().await, turns, "{place:?}");
        assert_eq!(two.model.requests().len(), nth + 1, "{place:?}");
    }
}

/// A turn of another request that came first is no obstacle.
#[tokio::test(start_paused = true)]
async fn a_request_that_another_one_overtakes_begins_its_turn_after_it() {
    let two = Two::new();
    let (_, made) = send(
        &two.first,
        Method::POST,
        "/api/v1/sessions",
        None,
        &json!({}),
    )
    .await;
    let path = format!(
        "/api/v1/sessions/{}/turns",
        made["id"].as_str().expect("an id")
    );
    let gate = Gate::new();
    two.held.hold_ownership(&gate);
    let ask = json!({ "message": "Two?" });
    let late = send(&two.second, Method::POST, &path, Some("key"), &ask);
    let other = async {
        gate.reached().await;
        let answered = send(&two.first, Method::POST, &path, Some("other"), &ask).await;
        gate.open();
        answered
    };
    let ((_, late), (_, other)) = tokio::join!(late, other);
    assert_eq!(
        (&late["answer"], &other["answer"]),
        (&json!("reply 1"), &json!("reply 0"))
    );
    assert_eq!(two.turns().await, 2);
}
