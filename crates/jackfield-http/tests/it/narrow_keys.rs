//! A turn waits that one key of Ann's began; another key of hers may use less. No route lets that one go on with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::request::ModelRef;
use jackfield_domain::tool::Safety;
use jackfield_engine::{Engine, ServerTools, TurnOptions};
use jackfield_gateway::{ApiKeys, Gateway, GatewayConfig, Principal};
use jackfield_http::router;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::harness::{PROVIDER, principal};

/// The routes by which a turn goes on or a model is called, and the key may do less than the turn.
const DOORS: [(&str, &str); 4] = [
    ("post", "/api/v1/approvals/{approval}/allow"),
    ("post", "/api/v1/sessions/{session}/compact"),
    ("post", "/api/v1/sessions/{session}/turns/{turn}/results"),
    ("post", "/api/v1/ui/chat"),
];

/// The other routes that change something: none of them goes on with a turn, but to end it or to deny its call.
const OTHERS: [(&str, &str); 29] = [
    ("post", "/api/v1/approvals/{approval}/deny"),
    ("post", "/api/v1/doctor"),
    ("post", "/api/v1/keys"),
    ("patch", "/api/v1/keys/{name}"),
    ("delete", "/api/v1/keys/{name}"),
    ("post", "/api/v1/keys/{name}/rotate"),
    ("post", "/api/v1/login"),
    ("delete", "/api/v1/login"),
    ("put", "/api/v1/own-servers/{name}"),
    ("patch", "/api/v1/own-servers/{name}"),
    ("delete", "/api/v1/own-servers/{name}"),
    ("post", "/api/v1/own-servers/{name}/sign-in"),
    ("delete", "/api/v1/own-servers/{name}/sign-in"),
    ("put", "/api/v1/provider-keys/{provider}"),
    ("delete", "/api/v1/provider-keys/{provider}"),
    ("post", "/api/v1/servers/{server}/complete"),
    ("post", "/api/v1/servers/{server}/prompts"),
    ("post", "/api/v1/sessions"),
    ("post", "/api/v1/sessions/import"),
    ("patch", "/api/v1/sessions/{session}"),
    ("delete", "/api/v1/sessions/{session}"),
    ("post", "/api/v1/sessions/{session}/fork"),
    // It names its model, or takes the default one: `directory::a_key_uses_the_models_that_it_names_alone`.
    ("post", "/api/v1/sessions/{session}/turns"),
    ("post", "/api/v1/sessions/{session}/turns/{turn}/cancel"),
    ("post", "/api/v1/sign-ins"),
    ("post", "/api/v1/teams"),
    ("patch", "/api/v1/teams/{name}"),
    ("post", "/api/v1/users"),
    ("patch", "/api/v1/users/{name}"),
];

/// A gateway with keys of Ann: `wide`; `cheap`, which may not use the model; `toolless`; and `program`, which answers no
/// approvals.
struct World {
    gateway: Gateway,
    model: ScriptedModel,
    tools: ScriptedToolbox,
}

impl World {
    fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let model = ScriptedModel::new();
        for reply in replies {
            model.push_reply(reply);
        }
        let tools = ScriptedToolbox::new(ToolboxId::parse("files").expect("an id"));
        tools.tool("read", Safety::Unknown);
        tools.set_default_call("read", ScriptedCall::text("read"));
        let engine = Engine::builder(Arc::new(MemoryJournal::new()))
            .model(PROVIDER, model.port())
            .builtins(tools.port())
            .build();
        let mut options = TurnOptions::new(ModelRef {
            model: "dear".into(),
            provider: PROVIDER.into(),
        });
        options.policy.can_ask = true;
        let mut config = GatewayConfig::new(options);
        let key = |name: &str, models: Option<&str>, tools| {
            let key = Principal {
                has_no_approvals: name == "program",
                models: models.map(|models| vec![models.into()]),
                principal: "ann".into(),
                ..principal(name, tools)
            };
            (Digest::of(name.as_bytes()), key)
        };
        config.api_keys = ApiKeys::new([
            key("wide", None, ServerTools::All),
            key("cheap", Some("claude/cheap"), ServerTools::All),
            key("alias", Some("best"), ServerTools::All),
            key("bare", Some("de*"), ServerTools::All),
            key("toolless", None, ServerTools::None),
            key("program", None, ServerTools::All),
        ]);
        let dear = config.default_options.model.clone();
        config.aliases.insert("best".into(), dear);
        let memory = Arc::new(MemoryJournal::default().ephemeral());
        Self {
            gateway: Gateway::new(engine, memory, config),
            model,
            tools,
        }
    }

    async fn send(
        &self,
        key: &str,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &Value,
    ) -> (StatusCode, String) {
        let mut request = Request::builder()
            .method(&*method.to_uppercase())
            .uri(path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_string()));
        let answered = router(&self.gateway).oneshot(request.expect("a request"));
        let response = answered.await.expect("an answer");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body");
        let text = String::from_utf8(body.to_bytes().to_vec()).expect("text");
        (status, text)
    }

    async fn json(&self, key: &str, route: (&str, &str), body: &Value) -> Value {
        let (status, text) = self.send(key, route, &[], body).await;
        assert!(status.is_success(), "{route:?}: {status} {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// What a forbidden request was for did not happen.
    fn kept(&self) {
        assert_eq!(self.model.requests().len(), 1);
        assert!(self.tools.calls().is_empty());
    }
}

/// A world in which a turn of the wide key waits for its client and for a person.
async fn waiting() -> (World, Value) {
    let calls = [("look", "{}"), ("read", "{}")];
    let world = World::new([
        ScriptedReply::calls(calls),
        ScriptedReply::text("It goes on."),
        ScriptedReply::text("And on."),
    ]);
    let none = json!({});
    let session = world
        .json("wide", ("post", "/api/v1/sessions"), &none)
        .await;
    let session = session["id"].as_str().expect("an id");
    let path = format!("/api/v1/sessions/{session}/turns");
    let look =
        json!({ "name": "look", "description": "Looks.", "input_schema": { "type": "object" } });
    let body = json!({ "message": "Go", "tools": [look], "server_tools": ["files/*"] });
    let turn = world.json("wide", ("post", &path), &body).await;
    assert_eq!(turn["status"], "waiting", "{turn}");
    (world, turn)
}

fn wait_of(turn: &Value, kind: &str) -> Value {
    let waits = turn["waits"].as_array().expect("waits").iter();
    let mut of_kind = waits.filter(|wait| wait["kind"] == kind);
    of_kind.next().expect("a wait of this kind").clone()
}

/// The path of a route, and what a client would send to go on.
fn request(route: &str, turn: &Value) -> (String, Value) {
    let approval = wait_of(turn, "approval")["id"].clone();
    let path = route
        .replace("{approval}", approval.as_str().expect("an id"))
        .replace("{session}", turn["session"].as_str().expect("an id"))
        .replace("{turn}", turn["id"].as_str().expect("an id"));
    let call = wait_of(turn, "client_result")["call"].clone();
    let body = match route.rsplit_once('/').expect("a path").1 {
        "results" => {
            json!({ "results": [{ "call": call, "content": [{ "type": "text", "text": "seen" }] }] })
        }
        _ => json!({}),
    };
    (path, body)
}

#[tokio::test]
async fn a_key_that_may_do_less_goes_on_with_no_turn_of_its_user() {
    for (method, route) in DOORS
        .into_iter()
        .filter(|(_, route)| !route.contains("/ui/"))
    {
        for key in ["cheap", "toolless"] {
            let (world, turn) = waiting().await;
            let (path, body) = request(route, &turn);
            // A summary has no tools.
            if route.ends_with("/compact") && key == "toolless" {
                continue;
            }
            let (status, text) = world.send(key, (method, &path), &[], &body).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{route} by {key}: {text}");
            assert!(text.contains("this key may not use"), "{text}");
            world.kept();
        }
        // The keys that may name the model in another way; the turn is still open, which a summary refuses.
        for key in ["wide", "alias", "bare"] {
            let (world, turn) = waiting().await;
            let (path, body) = request(route, &turn);
            if !route.ends_with("/compact") {
                let (status, text) = world.send(key, (method, &path), &[], &body).await;
                assert_eq!(status, StatusCode::OK, "{route} by {key}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_key_that_may_do_less_answers_no_call_of_its_user_in_another_language() {
    let look = json!({ "type": "function", "function": { "name": "look", "parameters": { "type": "object" } } });
    let mut talk = json!({
        "model": "claude/dear",
        "messages": [{ "role": "user", "content": "Look" }],
        "tools": [look],
    });
    let path = ("post", "/v1/chat/completions");
    for kept in ["new", ""] {
        let world = World::new([
            ScriptedReply::calls([("look", "{}")]),
            ScriptedReply::text("Seen."),
        ]);
        let headers = [("x-session-id", kept)];
        let headers = if kept.is_empty() { &[][..] } else { &headers };
        let (status, text) = world.send("wide", path, headers, &talk).await;
        assert_eq!(status, StatusCode::OK, "{text}");
        let reply: Value = serde_json::from_str(&text).expect("JSON");
        let message = reply["choices"][0]["message"].clone();
        let call = message["tool_calls"][0]["id"].clone();
        let mut next = talk.clone();
        let messages = next["messages"].as_array_mut().expect("messages");
        messages.push(message);
        messages.push(json!({ "role": "tool", "tool_call_id": call, "content": "a tree" }));
        next["model"] = "claude/cheap".into();
        let (status, text) = world.send("cheap", path, &[], &next).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{text}");
        world.kept();
        let (status, text) = world.send("wide", path, &[], &next).await;
        assert_eq!(status, StatusCode::OK, "{text}");
    }
    talk["model"] = "claude/cheap".into();
    let world = World::new([ScriptedReply::text("Cheap.")]);
    let (status, text) = world.send("cheap", path, &[], &talk).await;
    assert_eq!(status, StatusCode::OK, "{text}");
}

#[tokio::test]
async fn a_key_that_may_do_less_answers_no_call_of_its_user_in_a_front_end() {
    let path = ("post", "/api/v1/ui/chat");
    for key in ["cheap", "toolless"] {
        let world = World::new([
            ScriptedReply::calls([("look", "{}"), ("read", "{}")]),
            ScriptedReply::text("Seen."),
        ]);
        let look = json!({ "name": "look", "description": "Looks.", "input_schema": { "type": "object" } });
        let asked =
            json!({ "id": "1", "role": "user", "parts": [{ "type": "text", "text": "Look" }] });
        let body = json!({ "id": "chat", "messages": [asked], "tools": [look], "server_tools": ["files/*"] });
        let (status, text) = world.send("wide", path, &[], &body).await;
        assert_eq!(status, StatusCode::OK, "{text}");
        let chunks = text.lines().filter_map(|line| line.strip_prefix("data: {"));
        let chunks: Vec<Value> = chunks
            .map(|chunk| serde_json::from_str(&format!("{{{chunk}")).expect("JSON"))
            .collect();
        let of = |kind: &str| chunks.iter().find(|chunk| chunk["type"] == kind);
        let turn = &of("start").expect("a start")["messageId"];
        let wait = &of("tool-approval-request").expect("a question")["approvalId"];
        let called = chunks.iter().find(|chunk| chunk["toolName"] == "look");
        let call = &called.expect("a call")["toolCallId"];
        let seen = json!({
            "type": "tool-look", "toolCallId": call, "state": "output-available", "input": {}, "output": "a tree",
        });
        let question = json!({
            "type": "tool-read", "state": "approval-responded", "approval": { "id": wait, "approved": true },
        });
        let answer = |part: Value| {
            let last = json!({ "id": turn, "role": "assistant", "parts": [part] });
            json!({ "id": "chat", "messages": [asked, last] })
        };
        // A no is an answer, too.
        let mut no = question.clone();
        no["approval"]["approved"] = false.into();
        for part in [&question, &no] {
            let answer = answer(part.clone());
            let (status, text) = world.send("program", path, &[], &answer).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{text}");
            assert!(text.contains("`--no-approvals`"), "{text}");
            world.kept();
        }
        for part in [seen, question] {
            let (status, text) = world.send(key, path, &[], &answer(part)).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{key}: {text}");
            world.kept();
        }
    }
}

#[tokio::test]
async fn a_key_without_approvals_neither_sees_nor_answers_them() {
    let (world, turn) = waiting().await;
    let approval = wait_of(&turn, "approval")["id"].clone();
    let approval = approval.as_str().expect("an id");
    let session = turn["session"].as_str().expect("an id");
    let own = format!("/api/v1/approvals?session={session}");
    let one = format!("/api/v1/approvals/{approval}");
    let [allow, deny] = ["allow", "deny"].map(|how| format!("{one}/{how}"));
    for route in [
        ("get", "/api/v1/approvals"),
        ("get", &own),
        ("get", "/api/v1/approvals/events"),
        ("get", "/api/v1/events?approvals=true"),
        ("get", "/api/v1/approvals/none"),
        ("get", &one),
        ("post", &allow),
        ("post", &deny),
    ] {
        let (status, text) = world.send("program", route, &[], &json!({})).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{route:?}: {text}");
        assert!(text.contains("`--no-approvals`"), "{text}");
        world.kept();
    }
    // It may go on with the turn in every other way.
    let (path, body) = request("/api/v1/sessions/{session}/turns/{turn}/results", &turn);
    let (status, text) = world.send("program", ("post", &path), &[], &body).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    world.json("wide", ("post", &allow), &json!({})).await;
}

#[tokio::test]
async fn a_route_that_changes_something_is_known_to_go_on_with_a_turn_or_not_to() {
    let world = World::new([]);
    let document = world
        .json("wide", ("get", "/api/v1/openapi.json"), &Value::Null)
        .await;
    let paths = document["paths"].as_object().expect("paths");
    let routes = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("methods").keys();
        methods.map(move |method| (method.as_str(), path.as_str()))
    });
    let changing: BTreeSet<_> = routes.filter(|(method, _)| *method != "get").collect();
    let known: BTreeSet<_> = DOORS.into_iter().chain(OTHERS).collect();
    assert_eq!(changing, known);
}
