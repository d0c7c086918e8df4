//! A turn is asked for again in its middle, as its journal did not take its reply: what its client is told, and what an
//! equal request gets afterwards.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::request::ModelRef;
use jackfield_domain::tool::Safety;
use jackfield_engine::{Engine, ServerTools, TurnOptions};
use jackfield_gateway::{Gateway, GatewayConfig};
use jackfield_http::router;
use jackfield_ports::journal::AppendRefusal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{
    AppendFault, FaultyJournal, ScriptedModel, ScriptedReply, ScriptedToolbox,
};
use jackfield_testkit::server::Gate;
use serde_json::json;
use tower::ServiceExt as _;

use super::harness::PROVIDER;

struct World {
    gate: Gate,
    gateway: Gateway,
    journal: FaultyJournal,
    model: ScriptedModel,
}

impl World {
    /// Lets the reply end, which the journal does not take.
    fn go_on(&self) {
        let why = "full".into();
        let refusal = AppendFault::Refuse(AppendRefusal::Unwritable { why });
        self.journal.push_fault(refusal);
        self.gate.open();
    }
}

/// The first reply is held in its middle.
fn world() -> World {
    let (model, gate) = (ScriptedModel::new(), Gate::new());
    let half = ScriptedReply::text("Half").with_text(" of it.");
    model.push_reply(half.held_after(2, &gate));
    for text in ["All of it.", "Another.", "One more."] {
        model.push_reply(ScriptedReply::text(text));
    }
    let journal = FaultyJournal::new(Arc::new(MemoryJournal::new()));
    let toolbox = ScriptedToolbox::new(ToolboxId::parse("box").expect("a valid id"));
    toolbox.tool("act", Safety::ReadOnly);
    let engine = Engine::builder(Arc::new(journal.clone()))
        .model(PROVIDER, model.port())
        .toolbox(toolbox.port())
        .build();
    let mut options = TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: PROVIDER.into(),
    });
    options.policy.rules.push(PolicyRule {
        pattern: "*".into(),
        verdict: RuleVerdict::Allow,
    });
    let mut config = GatewayConfig::new(options);
    config.has_tools = true;
    config.offered_tools = ServerTools::All;
    let memory = Arc::new(MemoryJournal::default().ephemeral());
    World {
        gate,
        gateway: Gateway::new(engine, memory, config),
        journal,
        model,
    }
}

async fn ask(gateway: &Gateway, path: &str, is_stream: bool) -> Response {
    let mut body = json!({ "model": "claude/model", "max_tokens": 100, "stream": is_stream,
        "messages": [{ "role": "user", "content": "Tell me." }] });
    if path.ends_with("responses") {
        body = json!({ "model": "claude/model", "input": "Tell me.", "stream": is_stream });
    }
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .expect("a request");
    let answered = router(gateway).oneshot(request).await;
    answered.expect("an answer")
}

/// The body to its end.
async fn text(response: Response) -> String {
    let body = response.into_body().collect().await.expect("a body");
    String::from_utf8_lossy(&body.to_bytes()).into_owned()
}

const LANGUAGES: [&str; 3] = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];

#[tokio::test]
async fn a_stream_that_broke_off_says_that_its_turn_goes_on_and_an_equal_request_gets_it_once() {
    for path in LANGUAGES {
        let world = world();
        let response = ask(&world.gateway, path, true).await;
        assert_eq!(response.status(), 200, "{path}");
        let mut body = response.into_body();
        let mut told = String::new();
        while !told.contains("\"Ha\"") && !told.contains("output_text.delta") {
            let frame = body
                .frame()
                .await
                .unwrap_or_else(|| panic!("{path}: {told}"));
            let frame = frame.expect("a frame");
            told += &String::from_utf8_lossy(frame.data_ref().expect("data"));
        }
        world.gate.reached().await;
        world.go_on();
        while let Some(frame) = body.frame().await {
            told += &String::from_utf8_lossy(frame.expect("a frame").data_ref().expect("data"));
        }
        drop(body);
        assert!(told.contains("the turn goes on"), "{path}: {told}");
        let whole = text(ask(&world.gateway, path, true).await).await;
        assert!(whole.contains("All of it."), "{path}: {whole}");
        assert_eq!(world.model.requests().len(), 2, "{path}");
        // It has it now, and means another turn.
        let another = text(ask(&world.gateway, path, true).await).await;
        assert!(another.contains("Another."), "{path}: {another}");
    }
}

#[tokio::test]
async fn a_client_that_waits_for_the_whole_reply_learns_nothing_of_one_that_broke_off() {
    for path in LANGUAGES {
        let world = world();
        let gateway = world.gateway.clone();
        let asking = tokio::spawn(async move {
            let response = ask(&gateway, path, false).await;
            (response.status(), text(response).await)
        });
        world.gate.reached().await;
        world.go_on();
        let (status, whole) = asking.await.expect("no panic");
        assert_eq!(status, 200, "{path}: {whole}");
        assert!(whole.contains("All of it."), "{path}: {whole}");
        assert!(!whole.contains("Ha"), "{path}: {whole}");
        assert_eq!(world.model.requests().len(), 2, "{path}");
    }
}
