//! What is sent, in either language.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailureKind, Phase};
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{ChatModel as _, ModelError};
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, OpenAiConfig, Profile};
use jackfield_testkit::contract::chat_model::{ChatModelHarness as _, VendorReply, WireReply};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};

use crate::chat::ChatHarness;
use crate::harness::{MODEL, config, connect};
use crate::responses::ResponsesHarness;

pub(crate) const BOTH: [Api; 2] = [Api::ChatCompletions, Api::Responses];

#[tokio::test]
async fn a_request_has_the_vendors_headers() {
    for (api, path, limit) in [
        (
            Api::ChatCompletions,
            "/v1/chat/completions",
            "max_completion_tokens",
        ),
        (Api::Responses, "/v1/responses", "max_output_tokens"),
    ] {
        let seen = sent(api, MODEL, |config| config.key = Some(Secret::new("sk-1"))).await;
        assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", path));
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("authorization"), Some("Bearer sk-1"));
        assert_eq!(seen.header("openai-organization"), None);
        assert_eq!(seen.header("openai-project"), None);
        let body = seen.json();
        assert_eq!(body["model"], MODEL);
        assert_eq!(body["stream"], true);
        assert_eq!(body[limit], 256);
    }
}

#[tokio::test]
async fn settings_change_the_headers() {
    for api in BOTH {
        let seen = sent(api, MODEL, |config| {
            config.organization = Some("org-1".to_owned());
            config.project = Some("proj_1".to_owned());
        })
        .await;
        assert_eq!(seen.header("openai-organization"), Some("org-1"));
        assert_eq!(seen.header("openai-project"), Some("proj_1"));
        assert_eq!(seen.header("authorization"), None);
    }
}

#[tokio::test]
async fn the_path_of_the_address_is_kept() {
    for (below, path) in [
        ("", "/v1/responses"),
        ("/", "/v1/responses"),
        ("/v1/", "/v1/responses"),
        ("/openai/v1", "/openai/v1/responses"),
    ] {
        let server = TestServer::start().await;
        server.answer(events(Api::Responses));
        let base_url = format!("{}{below}", server.base_url());
        let model = connect(config(&base_url, Api::Responses));
        ask(&model, MODEL).await.1.unwrap();
        assert_eq!(server.request(0).await.path, path, "{below}");
    }
}

#[tokio::test]
async fn a_server_is_asked_for_what_its_profile_takes() {
    let seen = sent(Api::ChatCompletions, "qwen3", |config| {
        config.profile = ByModel::always(Profile::OLLAMA);
    })
    .await;
    let body = seen.json();
    assert_eq!(body["max_tokens"], 256);
    assert_eq!(body.get("max_completion_tokens"), None);
}

#[tokio::test]
async fn what_nobody_reads_along_is_asked_for_in_one_piece() {
    for api in BOTH {
        let server = TestServer::start().await;
        server.answer(events(api));
        let model = connect(config(&server.base_url(), api));
        let whole = ModelRequest {
            whole: true,
            ..request(MODEL)
        };
        ask_this(&model, &whole).await.1.unwrap();
        let body = server.request(0).await.json();
        assert_eq!(body.get("stream"), None, "{body}");
        assert_eq!(body.get("stream_options"), None, "{body}");
    }
}

#[tokio::test]
async fn a_key_that_is_needed_and_not_there_is_said_before_anything_is_sent() {
    for api in BOTH {
        let server = TestServer::start().await;
        let mut config = config(&server.base_url(), api);
        config.missing_key = Some("set OPENAI_API_KEY".to_owned());
        let (_, result) = ask(&connect(config), MODEL).await;
        let failure = result.unwrap_err().failure;
        assert_eq!(failure.kind, ModelFailureKind::Unauthenticated);
        assert_eq!(failure.phase, Phase::BeforeSend);
        assert_eq!(failure.message, "set OPENAI_API_KEY");
        assert_eq!(server.connections(), 0);
    }
}

#[tokio::test]
async fn what_the_mapper_notes_is_in_the_reply_unless_the_request_is_strict_about_it() {
    for api in BOTH {
        let server = TestServer::start().await;
        server.answer(events(api));
        let model = connect(config(&server.base_url(), api));
        let mut request = request(MODEL);
        Arc::make_mut(&mut request.settings).temperature = Some(0.5);
        let (_, result) = ask_this(&model, &request).await;
        let notes = result.unwrap().notes;
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(notes[0].path, "settings.temperature");
        request.strict = Some(NoteEffect::Cosmetic);
        let failure = ask_this(&model, &request).await.1.unwrap_err().failure;
        assert_eq!(failure.kind, ModelFailureKind::Unsupported);
        assert_eq!(failure.phase, Phase::BeforeSend);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn state_belongs_to_the_language_that_it_came_in() {
    let owner = |api| {
        let model = connect(config("https://host/openai/v1", api));
        let owner = model.state_owner(MODEL);
        format!("{} {} {}", owner.dialect, owner.endpoint, owner.model)
    };
    let of = |dialect: &str| format!("{dialect} https://host {MODEL}");
    assert_eq!(owner(Api::ChatCompletions), of("openai-chat"));
    assert_eq!(owner(Api::Responses), of("openai-responses"));
}

/// The request as it came, with these settings.
async fn sent(api: Api, model: &str, change: impl FnOnce(&mut OpenAiConfig)) -> RecordedRequest {
    let server = TestServer::start().await;
    server.answer(events(api));
    let mut config = config(&server.base_url(), api);
    change(&mut config);
    ask(&connect(config), model).await.1.unwrap();
    server.request(0).await
}

/// A reply of two words.
pub(crate) fn reply(api: Api) -> WireReply {
    let script = VendorReply::text(&["Hello ", "there"]);
    let wire = match api {
        Api::ChatCompletions => ChatHarness::OpenAi.render(&script),
        Api::Responses => ResponsesHarness.render(&script),
    };
    wire.unwrap()
}

/// That reply, as the server sends it.
pub(crate) fn events(api: Api) -> Response {
    Response::event_stream(reply(api).pieces.concat()).header("x-request-id", "req_1")
}

pub(crate) fn request(model: &str) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::user("Hello")].into_iter().collect(),
        model: ModelRef {
            model: model.into(),
            provider: "openai".into(),
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

pub(crate) async fn ask(model: &OpenAi, name: &str) -> (Vec<Delta>, Result<ReplyEnd, ModelError>) {
    ask_this(model, &request(name)).await
}

/// Asks, and fails the test if the call does not end.
pub(crate) async fn ask_this(
    model: &OpenAi,
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
