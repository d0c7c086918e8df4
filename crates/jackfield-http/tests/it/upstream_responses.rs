//! With `serve.responses = "upstream"`: a response that its provider keeps opens for the principal that made it, and for
//! nobody else.

mod vendor;

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_engine::{Engine, ServerTools, TurnOptions};
use jackfield_gateway::{
    ApiKeys, Gateway, GatewayConfig, OpenEndpoint, PassthroughUpstream, Principal,
};
use jackfield_http::router;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{FaultyJournal, JournalRequest, ScriptedModel};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use self::vendor::Vendor;
use super::harness::principal;

/// The vendors, which outlive gateways.
#[derive(Default)]
struct World {
    journal: MemoryJournal,
    openai: Arc<Vendor>,
    other: Arc<Vendor>,
}

impl World {
    /// A gateway over the journal, as another process would have it.
    fn gateway(&self, change: impl FnOnce(&mut GatewayConfig)) -> Gateway {
        self.gateway_over(Arc::new(self.journal.another_process()), change)
    }

    fn gateway_over(
        &self,
        journal: Arc<dyn Journal>,
        change: impl FnOnce(&mut GatewayConfig),
    ) -> Gateway {
        let engine = Engine::builder(journal)
            .model("openai", ScriptedModel::new().port())
            .model("other", ScriptedModel::new().port())
            .build();
        let model = |provider: &str| ModelRef {
            model: "gpt".into(),
            provider: provider.into(),
        };
        let mut config = GatewayConfig::new(TurnOptions::new(model("openai")));
        let other = TurnOptions::new(model("other"));
        config.options.insert("other".into(), other);
        config.aliases.insert("best".into(), model("openai"));
        config.passthrough.is_enabled = true;
        for (name, vendor) in [("openai", &self.openai), ("other", &self.other)] {
            let upstream = PassthroughUpstream {
                is_enabled: true,
                upstream: Arc::clone(vendor) as _,
            };
            config.passthrough.upstreams.insert(name.into(), upstream);
        }
        let key = |name: &str, user: &str, change: fn(&mut Principal)| {
            let mut key = principal(name, ServerTools::None);
            key.principal = user.into();
            change(&mut key);
            (Digest::of(name.as_bytes()), key)
        };
        config.api_keys = ApiKeys::new([
            key("ann", "ann", |_| {}),
            key("cheap", "ann", |key| {
                key.models = Some(vec!["openai/mini".into()]);
            }),
            key("ben", "ben", |_| {}),
            key("team", "team", |key| {
                key.endpoints = vec![OpenEndpoint {
                    path: "/v1/conversations/*".into(),
                    provider: "openai".into(),
                }];
            }),
        ]);
        change(&mut config);
        let memory = Arc::new(MemoryJournal::default().ephemeral());
        Gateway::new(engine, memory, config)
    }
}

async fn ask(gateway: &Gateway, key: &str, route: (Method, &str), body: &Value) -> Response {
    let (method, path) = route;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json");
    let body = if body.is_null() {
        Body::empty()
    } else {
        Body::from(body.to_string())
    };
    let request = request.body(body).expect("a request");
    router(gateway).oneshot(request).await.expect("an answer")
}

async fn answer(
    gateway: &Gateway,
    key: &str,
    route: (Method, &str),
    body: &Value,
) -> (StatusCode, String) {
    let response = ask(gateway, key, route, body).await;
    let status = response.status();
    let body = response.into_body().collect().await.expect("a body");
    let text = String::from_utf8(body.to_bytes().to_vec()).expect("text");
    (status, text)
}

/// The response to a request of this key, which is passed through.
async fn made(gateway: &Gateway, key: &str, body: &Value) -> Value {
    let (status, text) = answer(gateway, key, (Method::POST, RESPONSES), body).await;
    assert_eq!(status, StatusCode::OK, "{body}: {text}");
    serde_json::from_str(&text).expect("JSON")
}

fn asked(more: &Value) -> Value {
    let mut body = json!({ "model": "openai/gpt", "input": "hi" });
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

fn id(response: &Value) -> String {
    response["id"].as_str().expect("an id").to_owned()
}

/// The routes for a response, and what the provider is asked for.
fn routes(id: &str) -> [(Method, String); 6] {
    let path = format!("{RESPONSES}/{id}");
    [
        (Method::GET, path.clone()),
        (Method::GET, format!("{path}?include%5B%5D=reasoning")),
        (Method::GET, format!("{path}?stream=true&starting_after=1")),
        (
            Method::GET,
            format!("{path}/input_items?limit=2&order=asc&after=msg_1"),
        ),
        (Method::POST, format!("{path}/cancel")),
        (Method::DELETE, path),
    ]
}

async fn records(gateway: &Gateway) -> Vec<SpendingRecord> {
    let engine = gateway.engine();
    engine.flush_receipts().await;
    let mut records = Vec::new();
    let read = engine.read_spending(None, |record| records.push(record.clone()));
    read.await.expect("a journal");
    records
}

#[tokio::test]
async fn a_provider_is_asked_for_a_response_that_it_keeps() {
    let world = World::default();
    let gateway = world.gateway(|_| {});
    let body = asked(&json!({ "model": "best" }));
    let first = made(&gateway, "ann", &body).await;
    assert_eq!(first["model"], "best");
    let id = id(&first);
    let next = asked(&json!({ "previous_response_id": id }));
    made(&gateway, "ann", &next).await;
    // Another gateway, and another key of the user.
    let restarted = world.gateway(|_| {});
    made(&restarted, "ann", &next).await;
    let sent = world.openai.take();
    let [_, continued, again] = &sent[..] else {
        panic!("{sent:?}");
    };
    let mut expected = next.clone();
    expected["model"] = "gpt".into();
    for sent in [continued, again] {
        let body: Value = serde_json::from_str(&sent.body).expect("JSON");
        assert_eq!(
            (&*sent.route, body),
            ("POST /v1/responses", expected.clone())
        );
    }
    for (nth, (method, path)) in routes(&id).into_iter().enumerate() {
        let key = if nth % 2 == 0 { "ann" } else { "cheap" };
        let route = (method.clone(), &*path);
        let response = ask(&restarted, key, route, &Value::Null).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(response.headers()["x-jackfield-path"], "passthrough");
        let body = response.into_body().collect().await.expect("a body");
        let body = String::from_utf8(body.to_bytes().to_vec()).expect("text");
        let sent = world.openai.take();
        let [sent] = &sent[..] else {
            panic!("{path}: {sent:?}");
        };
        assert_eq!(sent.route, format!("{method} {path}"));
        assert_eq!(sent.body, "");
        let is_response = !path.contains("input_items") && method != Method::DELETE;
        assert_eq!(body.contains(r#""model":"best""#), is_response, "{body}");
        assert!(body.contains(if path.contains("input_items") {
            "msg_1"
        } else {
            &id
        }));
    }
    // What the provider does not have any more is its affair.
    let path = format!("{RESPONSES}/{id}");
    let gone = answer(&restarted, "ann", (Method::GET, &path), &Value::Null);
    let (status, text) = gone.await;
    assert_eq!((status, &*text), (StatusCode::NOT_FOUND, vendor::NOT_FOUND));
    // Nothing but the requests for a reply was counted.
    assert_eq!(records(&restarted).await.len(), 3);
}

#[tokio::test]
async fn another_principal_has_no_such_response() {
    let world = World::default();
    let gateway = world.gateway(|_| {});
    let own = id(&made(&gateway, "ann", &asked(&json!({}))).await);
    world.openai.take();
    let of_a_stranger = world.openai.keep("resp_stranger");
    for id in [&*own, &of_a_stranger] {
        for (route, unknown) in routes(id).into_iter().zip(routes("resp_unknown")) {
            let (status, text) = answer(&gateway, "ben", (route.0, &*route.1), &Value::Null).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{text}");
            let unknown = answer(&gateway, "ben", (unknown.0, &*unknown.1), &Value::Null);
            let (_, unknown) = unknown.await;
            assert_eq!(text.replace(id, "resp_unknown"), unknown);
        }
        let continued = async |id: &str| {
            let body = asked(&json!({ "previous_response_id": id }));
            answer(&gateway, "ben", (Method::POST, RESPONSES), &body).await
        };
        let (status, text) = continued(id).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
        assert!(text.contains("previous_response_not_found"), "{text}");
        let (_, unknown) = continued("resp_unknown").await;
        assert_eq!(text.replace(id, "resp_unknown"), unknown);
    }
    assert_eq!(world.openai.take().len(), 0);
    // Its own response still opens.
    let path = format!("{RESPONSES}/{own}");
    let (status, _) = answer(&gateway, "ann", (Method::GET, &path), &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_response_is_continued_under_the_rules_of_a_request() {
    let world = World::default();
    let gateway = world.gateway(|_| {});
    let own = id(&made(&gateway, "ann", &asked(&json!({ "user": "mary" }))).await);
    world.openai.take();
    let refused = async |gateway: &Gateway, key: &str, more: Value, headers: &str| {
        let mut body = asked(&json!({ "previous_response_id": own, "user": "mary" }));
        for (name, value) in more.as_object().expect("an object") {
            body[name] = value.clone();
        }
        let mut request = Request::post(RESPONSES)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json");
        if !headers.is_empty() {
            request = request.header(headers, "new");
        }
        let request = request.body(Body::from(body.to_string()));
        let answered = router(gateway).oneshot(request.expect("a request"));
        let response = answered.await.expect("an answer");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body");
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        assert!(!status.is_success(), "{text}");
        (status.as_u16(), text)
    };
    // The model of a narrow key.
    let (status, text) = refused(&gateway, "cheap", json!({}), "").await;
    assert_eq!(status, 403, "{text}");
    // Another end user.
    let (status, text) = refused(&gateway, "ann", json!({ "user": "joan" }), "").await;
    assert_eq!(status, 400);
    assert!(text.contains("previous_response_not_found"), "{text}");
    // A model of another provider.
    let (status, text) = refused(&gateway, "ann", json!({ "model": "other/gpt" }), "").await;
    assert_eq!(status, 400);
    assert!(
        text.contains("`openai` keeps") && text.contains("`other` cannot"),
        "{text}"
    );
    // A turn.
    let (status, text) = refused(&gateway, "ann", json!({}), "x-session-id").await;
    assert_eq!(status, 400);
    assert!(text.contains("`openai` keeps"), "{text}");
    // A provider that is not there any more.
    let without = world.gateway(|config| {
        config.passthrough.upstreams.remove("openai");
    });
    let (status, text) = refused(&without, "ann", json!({ "model": "other/gpt" }), "").await;
    assert_eq!(status, 400);
    assert!(text.contains("the provider `openai` keeps"), "{text}");
    let path = format!("{RESPONSES}/{own}");
    let (status, text) = answer(&without, "ann", (Method::GET, &path), &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(text.contains("the provider `openai` keeps"), "{text}");
    // A gateway that keeps responses itself knows none of a provider's.
    let keeping = world.gateway(|config| config.passthrough.keeps_responses = true);
    let (status, text) = answer(&keeping, "ann", (Method::GET, &path), &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(text.contains("there is no response"), "{text}");
    assert_eq!(world.openai.take().len() + world.other.take().len(), 0);
}

/// The vendor cuts its events in their middle.
#[tokio::test]
async fn a_response_of_a_stream_opens_from_its_first_event_on() {
    let world = World::default();
    let (one, other) = (world.gateway(|_| {}), world.gateway(|_| {}));
    let body = asked(&json!({ "model": "gpt", "stream": true }));
    let response = ask(&one, "ann", (Method::POST, RESPONSES), &body).await;
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = response.into_body();
    let mut text = String::new();
    while !text.contains("\n\n") {
        let frame = body.frame().await.expect("an event").expect("no error");
        text.push_str(std::str::from_utf8(frame.data_ref().expect("data")).expect("text"));
    }
    let (_, after) = text.split_once(r#""id":""#).expect("an id");
    let (id, _) = after.split_once('"').expect("its end");
    let id = id.to_owned();
    let path = format!("{RESPONSES}/{id}?stream=true&starting_after=0");
    let (status, again) = answer(&other, "ann", (Method::GET, &path), &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    assert!(again.contains("response.completed"), "{again}");
    let (status, _) = answer(&other, "ben", (Method::GET, &path), &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let rest = body.collect().await.expect("the rest").to_bytes();
    text.push_str(std::str::from_utf8(&rest).expect("text"));
    assert_eq!(text, vendor::events(&id, "gpt"));
}

#[tokio::test]
async fn a_response_in_the_background_is_counted_once() {
    let world = World::default();
    let gateway = world.gateway(|_| {});
    let body = asked(&json!({ "background": true }));
    let queued = made(&gateway, "ann", &body).await;
    assert_eq!(queued["status"], "queued");
    let path = format!("{RESPONSES}/{}", id(&queued));
    assert_eq!(records(&gateway).await, []);
    for (status, count) in [("in_progress", 0), ("completed", 1), ("completed", 1)] {
        let (_, text) = answer(&gateway, "ann", (Method::GET, &path), &Value::Null).await;
        let polled: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(polled["status"], status);
        let records = records(&gateway).await;
        assert_eq!(records.len(), count, "{status}");
        for record in records {
            assert_eq!((record.usage.input, record.usage.output), (3, 5));
            let (endpoint, principal) = (&*record.endpoint, &*record.principal);
            assert_eq!((endpoint, principal), (RESPONSES, "ann"));
        }
    }
    let cancel = format!("{path}/cancel");
    let (status, _) = answer(&gateway, "ben", (Method::POST, &cancel), &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = answer(&gateway, "ann", (Method::POST, &cancel), &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    // As events, the request itself tells the usage.
    let body = asked(&json!({ "background": true, "stream": true }));
    let (_, text) = answer(&gateway, "ann", (Method::POST, RESPONSES), &body).await;
    assert!(text.contains("response.completed"), "{text}");
    assert_eq!(records(&gateway).await.len(), 2);
}

#[tokio::test]
async fn a_response_that_is_not_stored_opens_for_nobody() {
    let world = World::default();
    let gateway = world.gateway(|_| {});
    let body = asked(&json!({ "store": false }));
    let path = format!("{RESPONSES}/{}", id(&made(&gateway, "ann", &body).await));
    world.openai.take();
    let (status, _) = answer(&gateway, "ann", (Method::GET, &path), &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(world.openai.take().len(), 0);
}

#[tokio::test]
async fn a_conversation_of_the_account_is_for_those_who_share_it() {
    let world = World::default();
    for keeps in [false, true] {
        let gateway = world.gateway(|config| config.passthrough.keeps_responses = keeps);
        let body = asked(&json!({ "conversation": "conv_1", "store": false }));
        let (status, text) = answer(&gateway, "ann", (Method::POST, RESPONSES), &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
        assert!(
            text.contains("unsupported_parameter") && text.contains("conversation"),
            "{text}"
        );
        made(&gateway, "team", &body).await;
        let open = world.gateway(|config| config.api_keys = ApiKeys::open(ServerTools::None));
        made(&open, "any", &body).await;
        assert_eq!(world.openai.take().len(), 2);
    }
}

/// A reply that is paid for reaches its client, and is the last of its conversation.
#[tokio::test]
async fn a_reply_arrives_although_the_journal_fails() {
    let world = World::default();
    let journal = FaultyJournal::new(Arc::new(world.journal.another_process()));
    let gateway = world.gateway_over(Arc::new(journal.clone()), |_| {});
    journal.fail_next(JournalRequest::UpstreamResponses, 1);
    let path = format!(
        "{RESPONSES}/{}",
        id(&made(&gateway, "ann", &asked(&json!({}))).await)
    );
    let (status, _) = answer(&gateway, "ann", (Method::GET, &path), &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

const RESPONSES: &str = "/v1/responses";
