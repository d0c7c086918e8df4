//! What is sent.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailureKind, Phase};
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{ChatModel as _, ModelError};
use jackfield_provider_claude::client::Claude;
use jackfield_provider_claude::config::{ClaudeConfig, KeyHeader};
use jackfield_provider_kit::secret::Secret;
use jackfield_testkit::contract::chat_model::{ChatModelHarness as _, VendorReply, WireReply};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};

use crate::harness::{ClaudeHarness, MODEL, connect};

#[tokio::test]
async fn a_request_has_the_vendors_headers() {
    let seen = sent(MODEL, |config| config.key = Some(Secret::new("sk-1"))).await;
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/v1/messages")
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("anthropic-version"), Some("2026-10-21"));
    assert_eq!(seen.header("x-api-key"), Some("sk-1"));
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.header("anthropic-beta"), None);
    let body = seen.json();
    assert_eq!(body["model"], MODEL);
    assert_eq!(body["stream"], true);
    assert_eq!(body["max_tokens"], 256);
}

#[tokio::test]
async fn what_nobody_reads_along_is_asked_for_in_one_piece() {
    let server = TestServer::start().await;
    server.answer(events(&reply()));
    let config = ClaudeConfig::new(&server.base_url()).unwrap();
    let whole = ModelRequest {
        whole: true,
        ..request(MODEL)
    };
    ask_this(&connect(config), &whole).await.1.unwrap();
    assert_eq!(server.request(0).await.json().get("stream"), None);
}

#[tokio::test]
async fn an_old_model_is_asked_in_the_old_version() {
    let seen = sent("claude-sonnet-4-5", |_| {}).await;
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
}

#[tokio::test]
async fn settings_change_the_headers() {
    let seen = sent(MODEL, |config| {
        config.betas = vec!["one-2026-01-01".to_owned(), "two-2026-02-02".to_owned()];
        config.key = Some(Secret::new("sk-1"));
        config.key_header = KeyHeader::Bearer;
        config.version = Some("2023-06-01".to_owned());
    })
    .await;
    let betas = seen.header("anthropic-beta");
    assert_eq!(betas, Some("one-2026-01-01,two-2026-02-02"));
    assert_eq!(seen.header("authorization"), Some("Bearer sk-1"));
    assert_eq!(seen.header("x-api-key"), None);
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
}

#[tokio::test]
async fn a_clients_betas_are_named_beside_the_configured_ones() {
    let server = TestServer::start().await;
    server.answer(events(&reply()));
    let mut config = ClaudeConfig::new(&server.base_url()).unwrap();
    config.betas = vec!["one-2026-01-01".to_owned()];
    let mut request = request(MODEL);
    request.settings = Arc::new(Settings {
        extensions: vec![Extension {
            dialect: "claude".into(),
            path: "/betas".to_owned(),
            json: serde_json::json!(["two-2026-02-02", "one-2026-01-01"]),
        }],
        ..(*request.settings).clone()
    });
    ask_this(&connect(config), &request).await.1.unwrap();
    let seen = server.request(0).await;
    assert_eq!(
        seen.header("anthropic-beta"),
        Some("one-2026-01-01,two-2026-02-02")
    );
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let seen = sent(MODEL, |_| {}).await;
    assert_eq!(seen.header("x-api-key"), None);
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn a_path_in_the_address_is_kept() {
    let server = TestServer::start().await;
    let base_url = format!("{}/claude/", server.base_url());
    server.answer(events(&reply()));
    let model = connect(ClaudeConfig::new(&base_url).unwrap());
    ask(&model, MODEL).await.1.unwrap();
    assert_eq!(server.request(0).await.path, "/claude/v1/messages");
}

#[tokio::test]
async fn a_key_that_is_needed_and_not_there_is_said_before_anything_is_sent() {
    let server = TestServer::start().await;
    let mut config = ClaudeConfig::new(&server.base_url()).unwrap();
    config.missing_key = Some("set ANTHROPIC_API_KEY".to_owned());
    let (_, result) = ask(&connect(config), MODEL).await;
    let failure = result.unwrap_err().failure;
    assert_eq!(failure.kind, ModelFailureKind::Unauthenticated);
    assert_eq!(failure.phase, Phase::BeforeSend);
    assert_eq!(failure.message, "set ANTHROPIC_API_KEY");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn what_the_mapper_notes_is_in_the_reply() {
    let server = TestServer::start().await;
    server.answer(events(&reply()));
    let model = connect(ClaudeConfig::new(&server.base_url()).unwrap());
    let mut request = request(MODEL);
    Arc::make_mut(&mut request.settings).temperature = Some(0.5);
    let (_, result) = ask_this(&model, &request).await;
    let notes = result.unwrap().notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].path, "settings.temperature");
}

#[tokio::test]
async fn what_must_not_get_lost_is_said_before_anything_is_sent() {
    let server = TestServer::start().await;
    server.answer(events(&reply()));
    let model = connect(ClaudeConfig::new(&server.base_url()).unwrap());
    let mut request = request(MODEL);
    Arc::make_mut(&mut request.settings).temperature = Some(0.5);
    request.strict = Some(NoteEffect::Quality);
    let (deltas, result) = ask_this(&model, &request).await;
    let failure = result.unwrap_err().failure;
    assert_eq!(failure.kind, ModelFailureKind::Unsupported);
    assert_eq!(failure.phase, Phase::BeforeSend);
    assert!(
        failure.message.contains("settings.temperature"),
        "{failure:?}"
    );
    assert_eq!((deltas, server.connections()), (Vec::new(), 0));
    request.strict = Some(NoteEffect::Meaning);
    ask_this(&model, &request).await.1.unwrap();
}

/// The request as it came, with these settings.
async fn sent(model: &str, change: impl FnOnce(&mut ClaudeConfig)) -> RecordedRequest {
    let server = TestServer::start().await;
    server.answer(events(&reply()));
    let mut config = ClaudeConfig::new(&server.base_url()).unwrap();
    change(&mut config);
    ask(&connect(config), model).await.1.unwrap();
    server.request(0).await
}

/// A reply of two words.
pub(crate) fn reply() -> WireReply {
    ClaudeHarness
        .render(&VendorReply::text(&["Hello ", "there"]))
        .unwrap()
}

/// A reply as the server sends it.
pub(crate) fn events(reply: &WireReply) -> Response {
    Response::event_stream(reply.pieces.concat()).header("request-id", "req_1")
}

pub(crate) fn request(model: &str) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::user("Hello")].into_iter().collect(),
        model: ModelRef {
            model: model.into(),
            provider: "claude".into(),
        },
        turn: None,
        settings: Arc::new(Settings {
            max_output_tokens: Some(256),
            ..Settings::default()
        }),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

pub(crate) async fn ask(model: &Claude, name: &str) -> (Vec<Delta>, Result<ReplyEnd, ModelError>) {
    ask_this(model, &request(name)).await
}

/// Asks, and fails the test if the call does not end.
pub(crate) async fn ask_this(
    model: &Claude,
    request: &ModelRequest,
) -> (Vec<Delta>, Result<ReplyEnd, ModelError>) {
    let mut deltas = Vec::new();
    let context = CallContext::default();
    let reply = model.reply(request, &context, &mut deltas);
    let result = tokio::time::timeout(Duration::from_secs(20), reply)
        .await
        .expect("the call ends");
    (deltas, result)
}
