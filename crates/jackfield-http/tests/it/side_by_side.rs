//! Two people side by side: every operation of the API document and of the compatible endpoints, asked for by Ben with
//! the ids of Ann. A route that is added later is asked for, too, and fails this test until it has its wall.

use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::policy::Policy;
use jackfield_domain::request::ModelRef;
use jackfield_domain::tool::Safety;
use jackfield_engine::{Engine, TurnOptions};
use jackfield_gateway::{ApiKeys, Gateway, GatewayConfig};
use jackfield_http::router;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply, ScriptedToolbox};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::harness::{PROVIDER, admin};

/// What Ann alone has said, and the model to her.
const SAID: &str = "marzipan";

/// A gateway with the keys of Ann and Ben, and what Ann has there.
struct World {
    ann: String,
    ben: String,
    gateway: Gateway,
    /// The ids of what is Ann's, by the name of the parameter in the API document.
    ids: Vec<(&'static str, String)>,
    model: ScriptedModel,
    response: String,
}

struct Answer {
    body: String,
    status: StatusCode,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    #[track_caller]
    fn is(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.json()
    }
}

async fn ask(
    gateway: &Gateway,
    key: &str,
    method: &str,
    path: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> Answer {
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_string()));
    let answered = router(gateway).oneshot(request.expect("a request")).await;
    let (head, body) = answered.expect("an answer").into_parts();
    let is_stream = head
        .headers
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    // A stream that is let through may have no end.
    let body = if is_stream && head.status == StatusCode::OK {
        String::from("a stream")
    } else {
        let bytes = body.collect().await.expect("a body").to_bytes();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Answer {
        body,
        status: head.status,
    }
}

impl World {
    async fn new() -> Self {
        let model = ScriptedModel::new();
        model.push_reply(ScriptedReply::text(SAID));
        model.push_reply(ScriptedReply::calls([("box__act", r#"{"n":1}"#)]));
        model.push_reply(ScriptedReply::text(SAID));
        model.push_reply(ScriptedReply::text(SAID));
        let tools = ScriptedToolbox::new(ToolboxId::parse("box").expect("an id"));
        tools.tool("act", Safety::Idempotent);
        let engine = Engine::builder(Arc::new(MemoryJournal::default()))
            .model(PROVIDER, model.port())
            .toolbox(tools.port())
            .build();
        let mut config = GatewayConfig::new(TurnOptions {
            policy: Policy {
                can_ask: true,
                rules: Vec::new(),
            },
            ..TurnOptions::new(ModelRef {
                model: "model".into(),
                provider: PROVIDER.into(),
            })
        });
        config.api_keys = ApiKeys::new([(Digest::of(b"root"), admin())]);
        let gateway = Gateway::new(
            engine,
            Arc::new(MemoryJournal::default().ephemeral()),
            config,
        );
        let mut keys = Vec::new();
        for user in ["ann", "ben"] {
            let body = json!({ "name": user });
            ask(&gateway, "root", "POST", "/api/v1/users", &body, &[])
                .await
                .is(201);
            let body = json!({ "user": user, "label": format!("of-{user}") });
            let made = ask(&gateway, "root", "POST", "/api/v1/keys", &body, &[]).await;
            let made = made.is(201);
            let text = |field: &str| made[field].as_str().expect("text").to_owned();
            keys.push((text("id"), text("secret")));
        }
        let (_, ben) = keys.pop().expect("a key");
        let (id, ann) = keys.pop().expect("a key");
        let mut world = Self {
            ann,
            ben,
            gateway,
            ids: vec![("name", id)],
            model,
            response: String::new(),
        };
        world.fill().await;
        world
    }

    async fn ann(&self, method: &str, path: &str, body: &Value) -> Answer {
        ask(&self.gateway, &self.ann, method, path, body, &[]).await
    }

    async fn ben(&self, method: &str, path: &str, body: &Value) -> Answer {
        ask(&self.gateway, &self.ben, method, path, body, &[]).await
    }

    /// A session with a turn, one with a question, a stored response and a chat.
    async fn fill(&mut self) {
        let id = |value: &Value| value["id"].as_str().expect("an id").to_owned();
        let session = id(&self
            .ann("POST", "/api/v1/sessions", &json!({}))
            .await
            .is(201));
        let turns = format!("/api/v1/sessions/{session}/turns");
        let said = self.ann("POST", &turns, &json!({ "message": SAID })).await;
        let turn = id(&said.is(200));
        let asking = json!({ "message": SAID, "mode": "background", "server_tools": ["*"] });
        let other = id(&self
            .ann("POST", "/api/v1/sessions", &json!({}))
            .await
            .is(201));
        let path = format!("/api/v1/sessions/{other}/turns");
        self.ann("POST", &path, &asking).await.is(202);
        let approval = loop {
            let open = self
                .ann("GET", "/api/v1/approvals", &json!(null))
                .await
                .is(200);
            if let Some(open) = open["approvals"].as_array().and_then(|all| all.first()) {
                break id(open);
            }
            tokio::task::yield_now().await;
        };
        let body = json!({ "model": "claude/model", "input": SAID });
        self.response = id(&self.ann("POST", "/v1/responses", &body).await.is(200));
        let parts = json!([{ "type": "text", "text": SAID }]);
        let chat = json!({ "id": "shared", "trigger": "submit-message",
            "messages": [{ "id": "m", "role": "user", "parts": parts }] });
        let answered = self.ann("POST", "/api/v1/ui/chat", &chat).await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.body);
        self.ids.extend([
            ("session", session),
            ("turn", turn),
            ("step", "0".to_owned()),
            ("approval", approval),
            ("chat", "shared".to_owned()),
            ("provider", "claude".to_owned()),
            ("server", "box".to_owned()),
        ]);
    }

    /// The path with the ids of Ann.
    fn filled(&self, path: &str) -> String {
        let mut filled = path.to_owned();
        for (name, id) in &self.ids {
            filled = filled.replace(&format!("{{{name}}}"), id);
        }
        assert!(
            !filled.contains('{'),
            "{path} has a parameter that this test has no id for"
        );
        filled
    }

    /// All that belongs to Ann, as she sees it.
    async fn seen_by_ann(&self) -> Vec<String> {
        let mut seen = Vec::new();
        for path in [
            "/sessions",
            "/sessions/{session}",
            "/sessions/{session}/export",
            "/approvals",
            "/keys",
            "/approvals/{approval}",
        ] {
            let path = format!("/api/v1{}", self.filled(path));
            seen.push(self.ann("GET", &path, &json!(null)).await.body);
        }
        let path = format!("/v1/responses/{}", self.response);
        seen.push(self.ann("GET", &path, &json!(null)).await.body);
        seen
    }
}

/// What keeps Ben from what is Ann's.
#[derive(Debug, Eq, PartialEq)]
enum Wall {
    /// Only an admin may do that.
    Admin,
    /// What is Ann's is not there for him.
    Missing,
    /// He may do it, for himself, with this status: nothing of hers is in the answer.
    Own(u16),
}

fn wall(operation: &str, path: &str) -> Wall {
    match operation {
        "add_team" | "add_user" | "create_key" | "edit_key" | "edit_team" | "edit_user"
        | "get_user" | "list_changes" | "list_teams" | "list_users" | "rotate_key"
        | "run_doctor" => Wall::Admin,
        "get_key" | "revoke_key" => Wall::Missing,
        _ if path.contains("{session}") || path.contains("{approval}") => Wall::Missing,
        "create_session" => Wall::Own(201),
        "get_login" | "get_usage" | "healthz" | "list_approvals" | "list_budgets" | "list_keys"
        | "list_models" | "list_own_servers" | "list_provider_keys" | "list_providers"
        | "list_routes" | "list_servers" | "list_sessions" | "list_tools" | "log_in" | "readyz"
        | "import_sessions" | "ui_chat" | "watch_approvals" | "watch_sessions" => Wall::Own(200),
        // There is no such chat of his.
        "ui_chat_stream" => Wall::Own(204),
        // This gateway keeps no secrets of people, and its server has no resources and prompts.
        "begin_login"
        | "complete_argument"
        | "edit_own_server"
        | "end_login"
        | "end_sign_in"
        | "get_prompt"
        | "list_prompts"
        | "list_resources"
        | "read_resource"
        | "remove_own_server"
        | "remove_provider_key"
        | "set_provider_key"
        | "watch_resource" => Wall::Own(404),
        "finish_sign_in" | "set_own_server" => Wall::Own(400),
        "begin_sign_in" => Wall::Own(409),
        // Logs are for admins, and a sign-out for the page.
        "get_server_log" | "log_out" => Wall::Own(403),
        _ => panic!("the operation {operation} is new: what keeps Ben from what is Ann's there?"),
    }
}

/// A body that the operation takes.
fn body(operation: &str) -> Value {
    let name = |name: &str| json!({ "name": name });
    match operation {
        "add_team" | "add_user" => name("eve"),
        "create_key" => json!({ "user": "ben" }),
        "complete_argument" => json!({ "prompt": "greet", "argument": "who" }),
        "edit_key" | "edit_team" => json!({ "quota": null }),
        "edit_own_server" => json!({ "enabled": false }),
        "edit_session" => json!({ "title": "mine" }),
        "edit_user" => json!({ "disabled": true }),
        "finish_sign_in" => json!({ "redirect": "http://127.0.0.1:1/?code=x&state=y" }),
        "fork_session" => json!({ "ordinal": 1 }),
        "get_prompt" => name("greet"),
        "import_sessions" => json!({ "conversations": [{ "id": "c", "title": "mine", "chat": {
            "messages": [{ "role": "user", "content": "hi" }],
        } }] }),
        "post_results" => json!({ "results": [] }),
        "post_turn" => json!({ "message": "hi" }),
        "set_own_server" => json!({ "url": "https://mcp.example/mcp" }),
        "set_provider_key" => json!({ "key": "sk-of-ben-0123456789" }),
        "ui_chat" => json!({ "id": "of ben", "trigger": "submit-message", "messages": [
            { "id": "m", "role": "user", "parts": [{ "type": "text", "text": "hi" }] },
        ] }),
        _ => json!({}),
    }
}

#[tokio::test]
async fn ben_meets_nothing_of_ann_in_any_operation_of_the_api() {
    let world = World::new().await;
    let document = world.ben("GET", "/api/v1/openapi.json", &json!(null)).await;
    let document = document.is(200);
    let before = world.seen_by_ann().await;
    world.model.push_reply(ScriptedReply::text("for Ben"));
    let (mut missing, mut seen) = (0, 0);
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let address = world.filled(path);
        for (method, operation) in operations.as_object().expect("operations") {
            let (name, method) = (operation["operationId"].as_str(), method.to_uppercase());
            let name = name.expect("an operation");
            let query = match name {
                "read_resource" => "?uri=note%3A%2F%2Fa".to_owned(),
                "watch_sessions" => world.filled("?sessions={session}"),
                _ => String::new(),
            };
            let address = format!("{address}{query}");
            let answer = world.ben(&method, &address, &body(name)).await;
            let told = format!("{method} {address}: {} {}", answer.status, answer.body);
            match wall(name, path) {
                Wall::Admin => assert_eq!(answer.status, StatusCode::FORBIDDEN, "{told}"),
                Wall::Missing => {
                    missing += 1;
                    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{told}");
                    // The id is the right one.
                    if method == "GET" {
                        seen += 1;
                        let own = world.ann(&method, &address, &json!(null)).await;
                        assert_eq!(own.status, StatusCode::OK, "{address}: {}", own.body);
                    }
                }
                Wall::Own(expected) => {
                    assert_eq!(answer.status.as_u16(), expected, "{told}");
                    let is_page = path.ends_with("openapi.json");
                    for (kind, id) in &world.ids {
                        let is_hers = matches!(*kind, "approval" | "name" | "session" | "turn");
                        // His own request names what it is about.
                        let is_named = address.contains(id.as_str());
                        assert!(
                            !is_hers || is_named || is_page || !answer.body.contains(id.as_str()),
                            "{told}"
                        );
                    }
                    assert!(!answer.body.contains(SAID), "{told}");
                    assert!(!answer.body.contains("of-ann"), "{told}");
                }
            }
        }
    }
    assert!(missing > 15 && seen > 7, "{missing} {seen}");
    assert_eq!(world.seen_by_ann().await, before);
}

#[tokio::test]
async fn ben_meets_nothing_of_ann_with_equal_names_in_the_languages_of_others() {
    let world = World::new().await;
    let before = world.seen_by_ann().await;
    let stored = format!("/v1/responses/{}", world.response);
    let next = json!({ "model": "claude/model", "input": "hi",
        "previous_response_id": world.response });
    for (method, path, body) in [
        ("GET", stored.clone(), json!(null)),
        ("GET", format!("{stored}/input_items"), json!(null)),
        ("POST", format!("{stored}/cancel"), json!(null)),
        ("DELETE", stored.clone(), json!(null)),
    ] {
        let answer = world.ben(method, &path, &body).await;
        assert_eq!(
            answer.status,
            StatusCode::NOT_FOUND,
            "{path}: {}",
            answer.body
        );
    }
    let answer = world.ben("POST", "/v1/responses", &next).await.is(400);
    assert_eq!(answer["error"]["code"], "previous_response_not_found");
    assert_eq!(
        world.ann("GET", &stored, &json!(null)).await.status,
        StatusCode::OK
    );
    // The same prompt with the same idempotency key, and the same chat.
    let chat =
        json!({ "model": "claude/model", "messages": [{ "role": "user", "content": SAID }] });
    let mut replies = Vec::new();
    for (key, reply) in [
        (&world.ann, SAID),
        (&world.ben, "for Ben"),
        (&world.ann, "never"),
    ] {
        world.model.push_reply(ScriptedReply::text(reply));
        let headers = [("idempotency-key", "same"), ("x-session-id", "new")];
        let path = "/v1/chat/completions";
        let answer = ask(&world.gateway, key, "POST", path, &chat, &headers).await;
        let answer = answer.is(200);
        let text = answer["choices"][0]["message"]["content"].as_str();
        replies.push(text.expect("text").to_owned());
    }
    assert_eq!(replies, [SAID, "for Ben", SAID]);
    let stream = "/api/v1/ui/chat/shared/stream";
    world.ben("GET", stream, &json!(null)).await.is(204);
    let parts = json!([{ "type": "text", "text": "hello" }]);
    let chat = json!({ "id": "shared", "trigger": "submit-message",
        "messages": [{ "id": "m", "role": "user", "parts": parts }] });
    let asked = world.model.requests().len();
    assert_eq!(
        world.ben("POST", "/api/v1/ui/chat", &chat).await.status,
        StatusCode::OK
    );
    while world.model.requests().len() == asked {
        tokio::task::yield_now().await;
    }
    let asked = format!("{:?}", world.model.requests()[asked].messages);
    assert!(asked.contains("hello") && !asked.contains(SAID), "{asked}");
    assert_eq!(world.seen_by_ann().await[1..], before[1..]);
}

#[tokio::test]
async fn ben_is_told_of_no_approval_of_ann() {
    let world = World::new().await;
    let request = |key: &str| {
        let request = Request::builder().uri("/api/v1/approvals/events");
        let request = request.header("authorization", format!("Bearer {key}"));
        request.body(Body::empty()).expect("a request")
    };
    let hers = world.ids.iter().find(|(name, _)| *name == "approval");
    let (_, hers) = hers.expect("an approval");
    for (key, is_ann) in [(&world.ann, true), (&world.ben, false)] {
        let opened = router(&world.gateway).oneshot(request(key)).await;
        let mut stream = opened.expect("an answer").into_body();
        world
            .model
            .push_reply(ScriptedReply::calls([("box__act", r#"{"n":2}"#)]));
        let session = ask(
            &world.gateway,
            key,
            "POST",
            "/api/v1/sessions",
            &json!({}),
            &[],
        )
        .await;
        let session = session.is(201)["id"].as_str().expect("an id").to_owned();
        let path = format!("/api/v1/sessions/{session}/turns");
        let body = json!({ "message": "hi", "mode": "background", "server_tools": ["*"] });
        ask(&world.gateway, key, "POST", &path, &body, &[])
            .await
            .is(202);
        let mut told = String::new();
        while !told.contains(&session) {
            let frame = stream.frame().await.expect("a frame").expect("read");
            told.push_str(&String::from_utf8_lossy(
                &frame.into_data().unwrap_or_default(),
            ));
        }
        assert_eq!(told.contains(hers.as_str()), is_ann, "{told}");
    }
}
