//! What is sent, and what becomes of Ollama's errors.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::ids::ToolName;
use jackfield_domain::listing::ListedModel;
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::Extension;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{Effort, ResponseFormat, Settings};
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{ChatModel as _, ModelError};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_ollama::client::Ollama;
use jackfield_provider_ollama::config::OllamaConfig;
use jackfield_testkit::contract::chat_model::{ChatModelHarness as _, VendorReply, WireReply};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};
use serde_json::{Value, json};

use crate::harness::{MODEL, OllamaHarness, connect, line, tag};

#[tokio::test]
async fn a_request_has_the_settings_of_its_server_and_drops_nothing_in_silence() {
    let seen = sent(&request(), "", |config| {
        config.defaults.num_ctx = Some(16_384);
        config.defaults.keep_alive = Some(json!("30m"));
    })
    .await;
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/api/chat")
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("authorization"), Some("Bearer key-1"));
    assert_eq!(
        seen.json(),
        json!({
            "model": MODEL,
            "messages": [{ "role": "user", "content": "hi" }],
            "keep_alive": "30m",
            "options": { "num_ctx": 16_384 },
            "stream": true,
            "truncate": false,
        })
    );
}

#[tokio::test]
async fn an_extension_goes_before_the_setting_of_the_server() {
    let extension = |path: &str, json: Value| Extension {
        dialect: "ollama".into(),
        path: path.to_owned(),
        json,
    };
    let mut asked = request();
    Arc::make_mut(&mut asked.settings).extensions = vec![
        extension("/options/num_ctx", json!(4096)),
        extension("/options/min_p", json!(0.05)),
        extension("/keep_alive", json!(0)),
        extension("/logprobs", json!(true)),
        extension("/options/temperature", json!(9)),
        extension("/messages", json!([])),
    ];
    let server = TestServer::start().await;
    server.answer(events(&said("hello")));
    let mut config = OllamaConfig::new(&server.base_url()).unwrap();
    config.defaults.num_ctx = Some(16_384);
    let end = ask(&connect(config), &asked).await.1.unwrap();
    let body = server.request(0).await.json();
    assert_eq!(body["options"], json!({ "num_ctx": 4096, "min_p": 0.05 }));
    assert_eq!(body["keep_alive"], 0);
    assert_eq!(body["logprobs"], true);
    let notes: Vec<(&str, &str)> = end
        .notes
        .iter()
        .map(|note| (&*note.code, &*note.path))
        .collect();
    assert_eq!(
        notes,
        [
            (
                "extension_path",
                "settings.extensions.ollama.options.temperature"
            ),
            ("extension_path", "settings.extensions.ollama.messages"),
        ]
    );
}

#[tokio::test]
async fn pictures_stand_before_the_text_and_a_level_of_thinking_is_a_word() {
    let image = Content::Image(Image {
        detail: None,
        source: MediaSource::Base64 {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        },
    });
    let mut asked = request();
    asked.messages = [Message::new(
        Role::User,
        vec![image.into(), Block::text("What is this?")],
    )]
    .into_iter()
    .collect();
    Arc::make_mut(&mut asked.settings).effort = Some(Effort::High);
    let body = sent(&asked, "", |_| {}).await.json();
    assert_eq!(
        body["messages"],
        json!([{ "role": "user", "content": "What is this?", "images": ["AAAA"] }])
    );
    assert_eq!(body["think"], "high");
}

#[tokio::test]
async fn an_answer_is_held_to_a_schema_unless_tools_could_not_be_called_then() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let mut asked = request();
    Arc::make_mut(&mut asked.settings).response_format = ResponseFormat::JsonSchema {
        description: None,
        name: "response".into(),
        schema: Arc::new(schema.clone()),
        strict: None,
    };
    let body = sent(&asked, "", |_| {}).await.json();
    assert_eq!(body["format"], schema);
    asked.tools = Arc::new(vec![Arc::new(tool(json!({ "type": "object" })))]);
    let body = sent(&asked, "", |_| {}).await.json();
    assert_eq!(body.get("format"), None);
    let prompt = body["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.contains(&schema.to_string()), "{prompt}");
}

/// `ToolProperty` has no reference, and drops what it does not know.
#[tokio::test]
async fn a_schema_says_all_that_reaches_the_model() {
    let mut asked = request();
    asked.tools = Arc::new(vec![Arc::new(tool(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "Place": { "type": "object", "properties": { "name": { "type": "string", "minLength": 2 } } } },
        "properties": {
            "from": { "$ref": "#/$defs/Place", "description": "where" },
            "unit": { "const": "celsius", "title": "Unit" },
            "any": true,
            "tags": { "type": "array", "items": { "$ref": "#/$defs/Place" } },
            "units": { "type": "array", "items": { "$ref": "#/definitions/Unit" } },
            "by_name": { "type": "object", "additionalProperties": { "$ref": "#/definitions/Unit" } },
            "sample": { "type": "object", "default": { "$ref": "#/definitions/Unit" } },
        },
        "definitions": { "Unit": { "enum": ["celsius", "kelvin"] } },
        "required": ["from"],
        "additionalProperties": false,
    })))]);
    let body = sent(&asked, "", |_| {}).await.json();
    let parameters = &body["tools"][0]["function"]["parameters"];
    let name = json!({ "type": "string", "description": "{minLength: 2}" });
    let place = json!({ "type": "object", "properties": { "name": name } });
    assert_eq!(
        *parameters,
        json!({
            "type": "object",
            "properties": {
                "from": { "description": "where", "type": "object", "properties": { "name": name } },
                "unit": { "enum": ["celsius"] },
                "any": {},
                "tags": { "type": "array", "items": place },
                "units": { "type": "array", "items": { "enum": ["celsius", "kelvin"] } },
                "by_name": { "type": "object", "description": r#"{additionalProperties: {"enum":["celsius","kelvin"]}}"# },
                "sample": { "type": "object", "description": r##"{default: {"$ref":"#/definitions/Unit"}}"## },
            },
            "required": ["from"],
        })
    );
}

/// A schema that refers to itself ends, and so does one that doubles with each reference.
#[tokio::test]
async fn a_schema_without_an_end_is_cut() {
    let mut definitions = serde_json::Map::new();
    for n in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        definitions.insert(
            format!("d{n}"),
            json!({ "properties": { "a": next, "b": next } }),
        );
    }
    definitions.insert("d30".to_owned(), json!({ "$ref": "#/$defs/d0" }));
    let schema = json!({ "type": "object", "$defs": definitions, "properties": { "x": { "$ref": "#/$defs/d0" } } });
    let mut asked = request();
    asked.tools = Arc::new(vec![Arc::new(tool(schema))]);
    let body = sent(&asked, "", |_| {}).await;
    let length = body.json().to_string().len();
    assert!(length < 20_000, "{length}");
}

#[tokio::test]
async fn a_reply_that_nobody_reads_along_comes_in_one_piece() {
    let asked = ModelRequest {
        whole: true,
        ..request()
    };
    assert_eq!(sent(&asked, "", |_| {}).await.json()["stream"], false);
}

#[tokio::test]
async fn the_path_of_either_api_may_end_the_base_url() {
    for path in ["/proxy", "/proxy/", "/proxy/api", "/proxy/v1", "/proxy/v1/"] {
        let seen = sent(&request(), path, |_| {}).await;
        assert_eq!(seen.path, "/proxy/api/chat", "{path}");
    }
}

#[tokio::test]
async fn lines_of_another_media_type_are_a_reply() {
    let lines = [
        json!({ "message": { "role": "assistant", "content": "Hel" }, "done": false }),
        json!({ "message": { "role": "assistant", "content": "lo" }, "done": true, "done_reason": "length" }),
    ];
    let body = lines.map(|line| line.to_string()).join("\n");
    let server = TestServer::start().await;
    server.answer(Response::json(200, body));
    let model = connect(OllamaConfig::new(&server.base_url()).unwrap());
    let (deltas, end) = ask(&model, &request()).await;
    assert_eq!(end.unwrap().finish, FinishReason::Length);
    let texts = deltas.iter().filter_map(|delta| match delta {
        Delta::TextAppended { text, .. } => Some(&**text),
        _ => None,
    });
    assert_eq!(texts.collect::<String>(), "Hello");
}

#[tokio::test]
async fn models_are_listed_with_what_is_known_of_them() {
    let server = TestServer::start().await;
    server.answer(Response::json(
        200,
        json!({ "models": [tag("qwen3:8b")] }).to_string(),
    ));
    let model = connect(OllamaConfig::new(&server.base_url()).unwrap());
    let listed = model.models().await.unwrap();
    assert_eq!(server.request(0).await.path, "/api/tags");
    let mut more = tag("qwen3:8b").as_object().unwrap().clone();
    more.retain(|key, _| key != "name" && key != "model");
    assert_eq!(
        listed,
        [ListedModel {
            more,
            ..ListedModel::new("qwen3:8b")
        }]
    );
}

/// Bodies of `server/routes.go`, `server/sched.go` and `llm/llama_server.go` (2026-08), with what each means.
#[tokio::test]
async fn errors_say_what_to_do() {
    let long = ModelFailureKind::ContextTooLong {
        limit: None,
        requested: None,
    };
    let counted = ModelFailureKind::ContextTooLong {
        limit: Some(4096),
        requested: Some(5000),
    };
    for (status, message, kind, advice, says) in [
        (
            404,
            "model 'qwen9' not found",
            ModelFailureKind::ModelNotFound,
            RetryAdvice::Never,
            "`ollama pull qwen9`",
        ),
        (
            404,
            "model \"library/qwen9:8b\" not found, try pulling it first",
            ModelFailureKind::ModelNotFound,
            RetryAdvice::Never,
            "`ollama pull library/qwen9:8b`",
        ),
        (
            404,
            "model '$(reboot)' not found",
            ModelFailureKind::ModelNotFound,
            RetryAdvice::Never,
            "with `ollama pull`.",
        ),
        (
            400,
            "registry.ollama.ai/library/gemma3:4b does not support tools",
            ModelFailureKind::ToolsUnsupported,
            RetryAdvice::Never,
            "Choose a model whose template knows tools",
        ),
        (
            400,
            "\"gemma3\" does not support thinking",
            ModelFailureKind::InvalidRequest,
            RetryAdvice::Never,
            "Leave effort and thinking unset",
        ),
        (
            400,
            "\"nomic-embed-text\" does not support chat",
            ModelFailureKind::InvalidRequest,
            RetryAdvice::Never,
            "does not support chat",
        ),
        (
            400,
            "the input length exceeds the context length",
            long,
            RetryAdvice::Never,
            "`num_ctx`",
        ),
        (
            400,
            "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the context length in settings, or use a model with a longer context length",
            long,
            RetryAdvice::Never,
            "`num_ctx`",
        ),
        (
            400,
            "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            counted,
            RetryAdvice::Never,
            "`num_ctx`",
        ),
        (
            503,
            "server busy, please try again.  maximum pending requests exceeded",
            ModelFailureKind::Overloaded,
            RetryAdvice::Backoff,
            "server busy",
        ),
        (
            401,
            "unauthorized",
            ModelFailureKind::Unauthenticated,
            RetryAdvice::Never,
            "`ollama signin`",
        ),
        (
            500,
            "model requires more system memory (12.1 GiB) than is available (7.9 GiB)",
            ModelFailureKind::ServerError,
            RetryAdvice::Never,
            "more system memory",
        ),
        (
            500,
            "error parsing tool call: raw='{\"city\": ', err=unexpected end of JSON input",
            ModelFailureKind::UnusableReply,
            RetryAdvice::Backoff,
            "error parsing tool call",
        ),
    ] {
        for error in [json!(message), json!({ "message": message })] {
            let body = json!({ "error": error }).to_string();
            let failure = failure(Response::json(status, body)).await;
            assert_eq!(failure.kind, kind, "{failure:?}");
            assert_eq!(failure.advice, advice, "{failure:?}");
            assert_eq!(failure.phase, Phase::BeforeFirstDelta, "{failure:?}");
            assert!(failure.message.contains(says), "{failure:?}");
        }
    }
}

#[tokio::test]
async fn an_error_within_a_stream_may_be_tried_again() {
    let words = "an error was encountered while running the model";
    let mut wire = said("hello");
    wire.pieces[1] = line(&json!({ "error": words }));
    let failure = failure(events(&wire)).await;
    assert_eq!(failure.kind, ModelFailureKind::ServerError);
    assert_eq!(failure.advice, RetryAdvice::Backoff);
    assert_eq!(failure.phase, Phase::MidReply);
    assert_eq!(failure.message, words);
}

async fn failure(response: Response) -> ModelFailure {
    let server = TestServer::start().await;
    server.answer(response);
    let model = connect(OllamaConfig::new(&server.base_url()).unwrap());
    let (_, end) = ask(&model, &request()).await;
    end.unwrap_err().failure
}

/// The request as it arrives, below this path.
async fn sent(
    request: &ModelRequest,
    path: &str,
    configure: impl FnOnce(&mut OllamaConfig),
) -> RecordedRequest {
    let server = TestServer::start().await;
    server.answer(events(&said("hello")));
    let mut config = OllamaConfig::new(&format!("{}{path}", server.base_url())).unwrap();
    config.key = Some(Secret::new("key-1"));
    configure(&mut config);
    ask(&connect(config), request).await.1.unwrap();
    server.request(0).await
}

fn said(text: &str) -> WireReply {
    OllamaHarness.render(&VendorReply::text(&[text])).unwrap()
}

fn events(wire: &WireReply) -> Response {
    let mut response = Response::new(wire.status);
    response.headers.clone_from(&wire.headers);
    wire.pieces.iter().cloned().fold(response, Response::send)
}

async fn ask(model: &Ollama, request: &ModelRequest) -> (Vec<Delta>, Result<ReplyEnd, ModelError>) {
    let mut deltas: Vec<Delta> = Vec::new();
    let end = model
        .reply(request, &CallContext::default(), &mut deltas)
        .await;
    (deltas, end)
}

fn tool(schema: Value) -> ToolDefinition {
    ToolDefinition {
        description: "Tells the weather.".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(schema)),
        name: ToolName::parse("weather").unwrap(),
        output: None,
        strict: None,
    }
}

fn request() -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::user("hi")].into_iter().collect(),
        model: ModelRef {
            model: MODEL.into(),
            provider: "ollama".into(),
        },
        turn: None,
        settings: Arc::new(Settings::default()),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}
