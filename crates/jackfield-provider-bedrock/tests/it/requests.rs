//! What is sent.

use std::sync::Arc;

use jackfield_domain::block::{Block, CachePoint, CalledName, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::media::{Document, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{Extension, OpaqueState, StateScope};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{ChatModel as _, ModelError};
use jackfield_provider_bedrock::client::Bedrock;
use jackfield_provider_bedrock::config::BedrockConfig;
use jackfield_provider_bedrock::credentials::{Credentials, SigningKeys};
use jackfield_provider_bedrock::profile::ModelProfile;
use jackfield_provider_kit::secret::Secret;
use jackfield_testkit::contract::chat_model::{ChatModelHarness as _, VendorReply, WireReply};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};
use serde_json::{Value, json};

use crate::harness::{BedrockHarness, MODEL, connect};

const NOVA: &str = "us.amazon.nova-pro-v1:0";
const LLAMA: &str = "us.meta.llama4-scout-17b-instruct-v1:0";

#[tokio::test]
async fn a_request_has_its_model_in_the_address_and_a_limit() {
    let seen = sent(&request()).await;
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        (
            "POST",
            "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"
        )
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("authorization"), Some("Bearer key-1"));
    assert_eq!(
        seen.json(),
        json!({
            "messages": [{ "role": "user", "content": [{ "text": "hi" }] }],
            "inferenceConfig": { "maxTokens": 8192 },
        })
    );
    let seen = sent(&to(LLAMA)).await;
    assert_eq!(seen.json()["inferenceConfig"], json!({ "maxTokens": 4096 }));
}

#[tokio::test]
async fn an_arn_is_one_segment_of_the_address() {
    let arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2";
    let mut asked = to(arn);
    asked.whole = true;
    assert_eq!(
        sent(&asked).await.path,
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fa1b2/converse"
    );
}

#[tokio::test]
async fn keys_of_an_account_sign_and_stay_here() {
    let server = TestServer::start().await;
    server.answer(events(&said("hello")));
    let mut config = BedrockConfig::new(&server.base_url()).unwrap();
    config.credentials = Some(Credentials::Signing(SigningKeys {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        region: "eu-central-1".to_owned(),
        secret_access_key: Secret::new("secret-1"),
        session_token: Some(Secret::new("token-1")),
    }));
    ask(&connect(config), &request()).await.1.unwrap();
    let seen = server.request(0).await;
    let authorization = seen.header("authorization").unwrap();
    assert!(
        authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"),
        "{authorization}"
    );
    assert!(
        authorization.contains("/eu-central-1/bedrock/aws4_request"),
        "{authorization}"
    );
    assert_eq!(seen.header("x-amz-security-token"), Some("token-1"));
    assert!(seen.header("x-amz-date").is_some());
    assert!(!format!("{seen:?}").contains("secret-1"));
}

#[test]
fn a_region_is_the_address() {
    let config = BedrockConfig::in_region("eu-central-1").unwrap();
    assert_eq!(
        config.base_url.to_string(),
        "https://bedrock-runtime.eu-central-1.amazonaws.com"
    );
    let config = BedrockConfig::in_region("cn-north-1").unwrap();
    assert_eq!(
        config.base_url.to_string(),
        "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"
    );
    for wrong in ["", "US-EAST-1", "us-east-1.evil.example/", "us east"] {
        assert!(BedrockConfig::in_region(wrong).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn thinking_effort_and_the_rest_of_claude_are_its_own_fields() {
    let mut asked = to("us.anthropic.claude-sonnet-4-6");
    let settings = Arc::make_mut(&mut asked.settings);
    settings.thinking = Some(ThinkingMode::Adaptive);
    settings.effort = Some(Effort::High);
    settings.parallel_calls = Some(false);
    settings.service_tier = Some("flex".into());
    asked.tools = Arc::new(vec![Arc::new(tool())]);
    asked.choice = ToolChoice::Required;
    let body = sent(&asked).await.json();
    assert_eq!(
        body["additionalModelRequestFields"],
        json!({ "thinking": { "type": "adaptive" }, "tool_choice": { "disable_parallel_tool_use": true } })
    );
    assert_eq!(body["outputConfig"], json!({ "effort": "high" }));
    assert_eq!(body["serviceTier"], json!({ "type": "flex" }));
    // A model that thinks cannot be forced.
    assert_eq!(body["toolConfig"].get("toolChoice"), None);
}

#[tokio::test]
async fn a_choice_is_sent_as_far_as_the_model_takes_it() {
    let named = ToolChoice::Named(ToolName::parse("weather").unwrap());
    for (model, choice, sent_choice) in [
        (MODEL, &named, json!({ "tool": { "name": "weather" } })),
        (NOVA, &ToolChoice::Required, json!({ "any": {} })),
        (
            "mistral.mistral-large-2407-v1:0",
            &named,
            json!({ "any": {} }),
        ),
        (LLAMA, &named, Value::Null),
    ] {
        let mut asked = to(model);
        let other = ToolDefinition {
            name: ToolName::parse("other").unwrap(),
            ..tool()
        };
        asked.tools = Arc::new(vec![Arc::new(other), Arc::new(tool())]);
        asked.choice = choice.clone();
        let config = sent(&asked).await.json()["toolConfig"].clone();
        assert_eq!(config["toolChoice"], sent_choice, "{model}");
        let is_whole = model == MODEL || model == NOVA;
        let count = config["tools"].as_array().unwrap().len();
        assert_eq!(count, if is_whole { 2 } else { 1 }, "{model}");
    }
}

/// `toolConfig` is required where there are calls, and no choice forbids them.
#[tokio::test]
async fn a_conversation_with_calls_keeps_its_tools() {
    let mut asked = conversation(MODEL);
    let stub = |body: &Value| {
        let tools = body["toolConfig"]["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 1);
        text(&tools[0]["toolSpec"]["description"])
    };
    assert!(stub(&sent(&asked).await.json()).contains("not available"));
    asked.tools = Arc::new(vec![Arc::new(tool())]);
    assert_eq!(stub(&sent(&asked).await.json()), "Tells the weather.");
    asked.choice = ToolChoice::Forbidden;
    assert!(stub(&sent(&asked).await.json()).contains("not available"));
}

#[tokio::test]
async fn results_stand_in_the_users_next_message() {
    let body = sent(&conversation(MODEL)).await.json();
    let messages = &body["messages"];
    assert_eq!(
        messages[1]["content"][0],
        json!({ "reasoningContent": { "reasoningText": { "text": "Hm.", "signature": "sig-1" } } })
    );
    assert_eq!(
        messages[1]["content"][1]["toolUse"]["input"],
        json!({ "city": "Oslo" })
    );
    let id = &messages[1]["content"][1]["toolUse"]["toolUseId"];
    assert_eq!(
        messages[2],
        json!({ "role": "user", "content": [
            { "toolResult": { "toolUseId": id, "content": [{ "text": "no such city" }], "status": "error" } },
            { "text": "and now?" },
        ] })
    );
    // Only Claude and Nova take a status, or another model's reasoning.
    let body = sent(&conversation(LLAMA)).await.json();
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 1);
    let result = &body["messages"][2]["content"][0]["toolResult"];
    assert_eq!(
        result["content"],
        json!([{ "text": "Error: no such city" }])
    );
    assert_eq!(result.get("status"), None);
}

#[tokio::test]
async fn media_have_formats_and_documents_names() {
    let document = |title: Option<&str>| {
        Content::Document(Document {
            cite: true,
            context: Some("Of last year.".into()),
            source: MediaSource::Base64 {
                media_type: "application/pdf".into(),
                data: "AAAA".into(),
            },
            title: title.map(Into::into),
        })
    };
    let image = Content::Image(Image {
        detail: None,
        source: MediaSource::Base64 {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        },
    });
    let blocks = vec![
        document(Some("report.pdf")).into(),
        document(Some("report.pdf")).into(),
        document(None).into(),
        image.into(),
    ];
    let mut asked = request();
    asked.messages = [Message::new(Role::User, blocks)].into_iter().collect();
    let content = sent(&asked).await.json()["messages"][0]["content"].clone();
    let names = content
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block["document"]["name"].as_str());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["report-pdf", "report-pdf 2", "document"]
    );
    assert_eq!(
        content[0]["document"],
        json!({
            "format": "pdf",
            "name": "report-pdf",
            "source": { "bytes": "AAAA" },
            "context": "Of last year.",
            "citations": { "enabled": true },
        })
    );
    assert_eq!(
        content[3],
        json!({ "image": { "format": "png", "source": { "bytes": "AAAA" } } })
    );
    // A document needs a text beside it.
    assert!(content[4]["text"].is_string(), "{content}");
}

/// Images in results are for Claude, Nova and Llama 4 alone (the service model, 2026-11).
#[tokio::test]
async fn other_models_are_shown_the_images_of_results_by_the_user() {
    let image = OutcomePart::Image(Image {
        detail: None,
        source: MediaSource::Base64 {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        },
    });
    let mut asked = conversation(MODEL);
    let outcome = ToolOutcome {
        call: ToolCallId::parse("c1").unwrap(),
        opaque: Vec::new(),
        result: ToolResult {
            content: vec![OutcomePart::Text("drawn".into()), image],
            is_error: false,
            structured: None,
        },
    };
    let outcome = Content::ToolOutcome(Arc::new(outcome));
    let before = asked.messages.iter().take(2);
    let before = before.map(|message| (**message).clone());
    let results = Message::new(Role::Tool, vec![outcome.into()]);
    asked.messages = before.chain([results]).collect();
    let picture = json!({ "image": { "format": "png", "source": { "bytes": "AAAA" } } });
    for model in [MODEL, NOVA, LLAMA] {
        asked.model.model = model.into();
        let content = sent(&asked).await.json()["messages"][2]["content"].clone();
        let result = &content[0]["toolResult"]["content"];
        assert_eq!(*result, json!([{ "text": "drawn" }, picture]), "{model}");
        let blocks = content.as_array().unwrap().iter();
        let blocks = blocks.filter(|block| block.get("cachePoint").is_none());
        assert_eq!(blocks.count(), 1, "{model}");
    }
    asked.model.model = "mistral.pixtral-large-2502-v1:0".into();
    let content = sent(&asked).await.json()["messages"][2]["content"].clone();
    let result = &content[0]["toolResult"]["content"];
    assert_eq!(result[0], json!({ "text": "drawn" }));
    assert!(text(&result[1]["text"]).contains("image"), "{content}");
    assert!(
        text(&content[1]["text"]).contains("What the call"),
        "{content}"
    );
    assert_eq!(content[2], picture);
}

#[tokio::test]
async fn a_format_is_a_schema_in_a_text_or_words() {
    let mut asked = request();
    Arc::make_mut(&mut asked.settings).response_format = ResponseFormat::JsonSchema {
        description: None,
        name: "city".into(),
        schema: Arc::new(
            json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] }),
        ),
        strict: Some(true),
    };
    let body = sent(&asked).await.json();
    let schema = &body["outputConfig"]["textFormat"]["structure"]["jsonSchema"];
    assert_eq!(schema["name"], "city");
    let parsed: Value = serde_json::from_str(schema["schema"].as_str().unwrap()).unwrap();
    assert_eq!(parsed["additionalProperties"], false);
    asked.model.model = NOVA.into();
    let body = sent(&asked).await.json();
    assert_eq!(body.get("outputConfig"), None);
    assert!(text(&body["system"][0]["text"]).contains("matches this JSON schema"));
}

#[tokio::test]
async fn cache_points_are_blocks_for_models_that_have_caches() {
    let mut asked = request();
    let mut block = Block::text("a long text");
    block.cache = Some(CachePoint {
        seconds: Some(3600),
    });
    asked.messages = [Message::new(Role::User, vec![block])]
        .into_iter()
        .collect();
    let content = sent(&asked).await.json()["messages"][0]["content"].clone();
    assert_eq!(
        content,
        json!([{ "text": "a long text" }, { "cachePoint": { "type": "default", "ttl": "1h" } }])
    );
    asked.model.model = LLAMA.into();
    let content = sent(&asked).await.json()["messages"][0]["content"].clone();
    assert_eq!(content, json!([{ "text": "a long text" }]));
}

#[tokio::test]
async fn claude_gets_a_temperature_or_top_p_and_others_both() {
    for (model, has_both) in [
        ("anthropic.claude-haiku-4-5-20251001-v1:0", false),
        ("amazon.nova-pro-v1:0", true),
    ] {
        let mut asked = to(model);
        let settings = Arc::make_mut(&mut asked.settings);
        (settings.temperature, settings.top_p) = (Some(0.5), Some(0.5));
        let inference = sent(&asked).await.json()["inferenceConfig"].clone();
        assert_eq!(inference["temperature"], 0.5, "{model}");
        assert_eq!(inference["topP"] == 0.5, has_both, "{model}: {inference}");
    }
}

#[tokio::test]
async fn a_conversation_that_begins_with_the_model_gets_a_user_before_it() {
    let mut asked = to(MODEL);
    let first = Message::new(Role::Assistant, vec![Block::text("Welcome.")]);
    asked.messages = [first, Message::user("hi")].into_iter().collect();
    let messages = sent(&asked).await.json()["messages"].clone();
    let roles: Vec<&str> = messages
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(messages[1]["content"], json!([{ "text": "Welcome." }]));
}

#[test]
fn reasoning_does_not_go_back_to_deepseek() {
    for (model, goes_back) in [
        ("deepseek.v3-v1:0", false),
        ("us.deepseek.r1-v1:0", false),
        ("openai.gpt-oss-120b-1:0", true),
    ] {
        // Whose reasoning it is has the model of the conversation.
        let conversation = conversation(model);
        let owner = conversation
            .messages
            .iter()
            .flat_map(|message| &message.blocks);
        let owner = owner.flat_map(|block| &block.opaque).next();
        let owner = owner.expect("a signature").owner.clone();
        let profile = ModelProfile::of(model);
        let (body, notes) =
            jackfield_provider_bedrock::request::to_wire(&conversation, &owner, &profile).unwrap();
        let body = serde_json::to_string(&body).unwrap();
        assert_eq!(
            body.contains("reasoningContent"),
            goes_back,
            "{model}: {body}"
        );
        let is_noted = notes.iter().any(|note| note.code == "thinking_withheld");
        assert_eq!(is_noted, !goes_back, "{model}: {notes:?}");
    }
}

#[tokio::test]
async fn an_extension_is_a_field_of_bedrock_or_of_the_model() {
    let extension = |path: &str, json: Value| Extension {
        dialect: "bedrock".into(),
        path: path.to_owned(),
        json,
    };
    let mut asked = to("openai.gpt-oss-120b-1:0");
    Arc::make_mut(&mut asked.settings).extensions = vec![
        extension(
            "/additionalModelRequestFields/reasoning_effort",
            json!("low"),
        ),
        extension(
            "/guardrailConfig",
            json!({ "guardrailIdentifier": "g1", "guardrailVersion": "1" }),
        ),
        extension("/inferenceConfig/temperature", json!(9)),
        extension("/additionalModelRequestFields/thinking", json!({})),
    ];
    let server = TestServer::start().await;
    server.answer(events(&said("hello")));
    let model = connect(BedrockConfig::new(&server.base_url()).unwrap());
    let end = ask(&model, &asked).await.1.unwrap();
    let body = server.request(0).await.json();
    assert_eq!(
        body["additionalModelRequestFields"],
        json!({ "reasoning_effort": "low" })
    );
    assert_eq!(body["guardrailConfig"]["guardrailIdentifier"], "g1");
    let paths: Vec<&str> = end
        .notes
        .iter()
        .filter(|note| note.code == "extension_path")
        .map(|note| &*note.path)
        .collect();
    assert_eq!(
        paths,
        [
            "settings.extensions.bedrock.inferenceConfig.temperature",
            "settings.extensions.bedrock.additionalModelRequestFields.thinking",
        ]
    );
}

/// The request as it arrives.
async fn sent(request: &ModelRequest) -> RecordedRequest {
    let server = TestServer::start().await;
    server.answer(events(&said("hello")));
    let mut config = BedrockConfig::new(&server.base_url()).unwrap();
    config.credentials = Some(Credentials::Bearer(Secret::new("key-1")));
    let model = connect(config);
    // State is a server's, and its port is known only now.
    let mut request = request.clone();
    let owner = model.state_owner(MODEL);
    let messages = request.messages.iter().map(|message| {
        let mut message = (**message).clone();
        for state in message
            .blocks
            .iter_mut()
            .flat_map(|block| &mut block.opaque)
        {
            state.owner = owner.clone();
        }
        message
    });
    request.messages = messages.collect();
    ask(&model, &request).await.1.unwrap();
    server.request(0).await
}

fn said(text: &str) -> WireReply {
    BedrockHarness.render(&VendorReply::text(&[text])).unwrap()
}

fn events(wire: &WireReply) -> Response {
    let mut response = Response::new(wire.status);
    response.headers.clone_from(&wire.headers);
    wire.pieces.iter().cloned().fold(response, Response::send)
}

pub(crate) async fn ask(
    model: &Bedrock,
    request: &ModelRequest,
) -> (Vec<Delta>, Result<ReplyEnd, ModelError>) {
    let mut deltas: Vec<Delta> = Vec::new();
    let end = model
        .reply(request, &CallContext::default(), &mut deltas)
        .await;
    (deltas, end)
}

fn tool() -> ToolDefinition {
    ToolDefinition {
        description: "Tells the weather.".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(
            json!({ "type": "object", "properties": { "city": { "type": "string" } } }),
        )),
        name: ToolName::parse("weather").unwrap(),
        output: None,
        strict: None,
    }
}

/// A call with its reasoning and its result, and a question.
fn conversation(model: &str) -> ModelRequest {
    let mut thought = Block::from(Content::Thinking(Thinking {
        redacted: false,
        text: "Hm.".into(),
    }));
    thought.opaque.push(OpaqueState {
        kind: "signature".into(),
        json: json!("sig-1"),
        owner: jackfield_domain::opaque::StateOwner {
            dialect: "bedrock".into(),
            endpoint: "".into(),
            model: MODEL.into(),
        },
        scope: StateScope::Block,
    });
    let id = ToolCallId::parse("c1").unwrap();
    let call = Content::ToolCall(Arc::new(ToolCall {
        id: id.clone(),
        input: ToolInput::Json(JsonInput::parse("{\"city\":\"Oslo\"}")),
        name: CalledName::new("weather"),
        ran_by: RanBy::Engine,
        upstream: None,
    }));
    let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
        call: id,
        opaque: Vec::new(),
        result: ToolResult {
            content: vec![OutcomePart::Text("no such city".into())],
            is_error: true,
            structured: None,
        },
    }));
    let mut asked = to(model);
    asked.messages = [
        Message::user("What is the weather?"),
        Message::new(Role::Assistant, vec![thought, call.into()]),
        Message::new(Role::Tool, vec![outcome.into()]),
        Message::user("and now?"),
    ]
    .into_iter()
    .collect();
    asked
}

fn to(model: &str) -> ModelRequest {
    let mut asked = request();
    asked.model.model = model.into();
    asked
}

pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::user("hi")].into_iter().collect(),
        model: ModelRef {
            model: MODEL.into(),
            provider: "bedrock".into(),
        },
        turn: None,
        searchable: Arc::default(),
        settings: Arc::new(Settings::default()),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
