//! Requests and replies as the testkit makes them, dressed with what this dialect alone knows.

use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_domain::block::{
    Block, CachePoint, CalledName, Content, OpaqueBlock, RanBy, Thinking, ToolCall,
};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{Extension, OpaqueState, StateOwner, StateScope};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome};
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{CacheMode, ResponseFormat, Settings};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Whom requests go to; one of the owners that the testkit's generators know.
pub(crate) fn owner() -> StateOwner {
    StateOwner {
        dialect: "claude".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

/// Of the newest models and of the oldest, and of those between that differ.
pub(crate) fn profile() -> impl Strategy<Value = Profile> + Clone {
    let models = [
        "claude-opus-5-5",
        "claude-opus-5",
        "claude-opus-4-7",
        "claude-sonnet-4-6",
        "claude-haiku-4-5",
        "claude-3-5-haiku-20241022",
    ];
    select(models.to_vec()).prop_map(|model| Profile {
        cache: CacheMode::Client,
        ..Profile::of(model)
    })
}

/// A request as a turn may send it. User messages hold no sounds here, which would be refused.
pub(crate) fn request() -> BoxedStrategy<ModelRequest> {
    // Boxed, as all strategies of this size: by value they fill the stack of a test's thread.
    let dressed =
        (arb::model_request(), vec(any::<u8>(), 24..48)).prop_map(|(request, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut messages = Vec::new();
            for message in request.messages.iter() {
                let dressed = dressed(message, &mut choices);
                if dressed.role == Role::User {
                    around(dressed, &mut choices, &mut messages);
                } else {
                    messages.push(dressed);
                }
            }
            ModelRequest {
                messages: messages.into_iter().collect(),
                settings: Arc::new(settings(&request.settings, &mut choices)),
                tools: Arc::new(tools(&request.tools, &mut choices)),
                ..request
            }
        });
    dressed.boxed()
}

/// The turn and the try whose replies are generated.
pub(crate) fn attempt() -> (TurnId, ModelAttempt) {
    let session = SessionId::parse("s1").expect("a valid id");
    let attempt = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    (TurnId::derive(&session, 1), attempt)
}

/// A reply whose arguments are all JSON objects or text: broken ones are told as they are in a stream,
/// and wrapped in a whole.
pub(crate) fn reply() -> BoxedStrategy<Reply> {
    let (turn, attempt) = attempt();
    let dressed =
        (arb::reply(turn, attempt), vec(any::<u8>(), 12..24)).prop_map(|(reply, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut message = dressed(&reply.message, &mut choices);
            for block in &mut message.blocks {
                block.cache = None;
                if let Content::ToolCall(call) = &block.content
                    && let ToolInput::Json(input) = &call.input
                    && input.object().is_err()
                {
                    block.content = Content::ToolCall(Arc::new(ToolCall {
                        input: ToolInput::Json(JsonInput::parse("{\"mended\": true}")),
                        ..(**call).clone()
                    }));
                }
            }
            Reply {
                message: Arc::new(message),
                ..reply
            }
        });
    dressed.boxed()
}

/// Numbers to decide by, over and over again.
struct Choices {
    choices: Vec<u8>,
    next: usize,
}

impl Choices {
    /// A number below `end`; 0 is the simplest.
    fn below(&mut self, end: u8) -> u8 {
        let choice = self.choices.get(self.next % self.choices.len());
        self.next += 1;
        choice.copied().unwrap_or(0) % end
    }
}

pub(crate) fn own_state(kind: &str, json: Value) -> OpaqueState {
    OpaqueState {
        kind: kind.into(),
        json,
        owner: owner(),
        scope: StateScope::Block,
    }
}

fn dressed(message: &Message, choices: &mut Choices) -> Message {
    let mut message = message.clone();
    let mut searched: Option<String> = None;
    for block in &mut message.blocks {
        let content = block.content.clone();
        match content {
            Content::Audio(_) if message.role == Role::User => {
                block.content = Block::text("a sound was here").content;
            }
            Content::Audio(_) | Content::Refusal(_) => {}
            Content::Document(_) | Content::Image(_) => {
                if choices.below(6) == 5 {
                    block.cache = Some(CachePoint {
                        seconds: Some(3600),
                    });
                }
                elsewhere(block, message.role);
            }
            Content::Opaque(_) => match choices.below(3) {
                1 => block.content = upload(None),
                2 => block.content = upload(Some("a file")),
                _ => {}
            },
            Content::Text(_) => match choices.below(8) {
                6 => block.cache = Some(CachePoint { seconds: None }),
                7 => {
                    block.cache = Some(CachePoint {
                        seconds: Some(1000),
                    });
                }
                _ => {}
            },
            Content::Thinking(mut thinking) => {
                let kind = if thinking.redacted {
                    "redacted_thinking"
                } else {
                    "signature"
                };
                match choices.below(4) {
                    1 => block.opaque = vec![own_state(kind, json!("c2ln"))],
                    2 => block.opaque = vec![own_state(kind, json!(""))],
                    3 => {
                        thinking.text = "shown all the same".into();
                        block.content = Content::Thinking(thinking);
                        block.opaque = vec![own_state(kind, json!("c2ln"))];
                    }
                    _ => {}
                }
            }
            Content::ToolCall(call) if call.ran_by == RanBy::Provider => {
                if choices.below(2) == 1 {
                    let id = format!("srvtoolu_{}", call.id);
                    *block = search(&call, &id);
                    searched = Some(id);
                }
            }
            Content::ToolCall(_) => match choices.below(5) {
                3 => block.opaque = vec![own_state("caller", json!({ "type": "direct" }))],
                4 => {
                    block.opaque = vec![
                        own_state("caller", json!({ "type": "direct" })),
                        own_state("toolset_name", json!("computer")),
                    ];
                }
                _ => {}
            },
            Content::ToolOutcome(outcome) => {
                if let Some(id) = searched.take() {
                    block.content = Content::Opaque(OpaqueBlock {
                        fallback: None,
                        json: json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [] }),
                        kind: "web_search_tool_result".into(),
                        owner: owner(),
                    });
                } else if choices.below(5) == 4 {
                    block.content = with_odd_image(&outcome);
                    block.cache = Some(CachePoint { seconds: None });
                }
            }
        }
    }
    message
}

/// Only the owner knows the files of others, and a user's would be refused.
fn elsewhere(block: &mut Block, role: Role) {
    let source = match &mut block.content {
        Content::Document(document) => &mut document.source,
        Content::Image(image) => &mut image.source,
        Content::Audio(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => return,
    };
    if let MediaSource::File { owner: whose, .. } = source
        && role == Role::User
    {
        *whose = owner();
    }
}

fn upload(fallback: Option<&str>) -> Content {
    Content::Opaque(OpaqueBlock {
        fallback: fallback.map(Into::into),
        json: json!({ "type": "container_upload", "file_id": "file_1" }),
        kind: "container_upload".into(),
        owner: owner(),
    })
}

/// A block with a cache point that stays as the client has sent it.
pub(crate) fn search_result() -> Content {
    Content::Opaque(OpaqueBlock {
        fallback: None,
        json: json!({
            "type": "search_result",
            "source": "a",
            "title": "b",
            "content": [{ "type": "text", "text": "c" }],
            "cache_control": { "type": "ephemeral" },
        }),
        kind: "search_result".into(),
        owner: owner(),
    })
}

fn search(call: &ToolCall, id: &str) -> Block {
    let fields = json!({ "type": "server_tool_use", "id": id, "name": "web_search" });
    Block {
        cache: None,
        content: Content::ToolCall(Arc::new(ToolCall {
            input: ToolInput::Json(JsonInput::parse("{\"query\": \"weather\"}")),
            name: CalledName::new("web_search"),
            ..call.clone()
        })),
        opaque: vec![own_state("provider_call", fields)],
    }
}

fn with_odd_image(outcome: &ToolOutcome) -> Content {
    let mut outcome = outcome.clone();
    outcome.result.content.push(OutcomePart::Image(Image {
        detail: None,
        source: MediaSource::Base64 {
            media_type: "image/tiff".into(),
            data: "AAAA".into(),
        },
    }));
    Content::ToolOutcome(Arc::new(outcome))
}

fn settings(settings: &Settings, choices: &mut Choices) -> Settings {
    let mut settings = settings.clone();
    match choices.below(6) {
        3 => settings
            .extensions
            .push(extension("/thinking/block_binding", json!({}))),
        4 => settings
            .extensions
            .push(extension("/mcp_servers", json!([]))),
        5 => settings
            .extensions
            .push(extension("/output_config/task_budget", json!({}))),
        _ => {}
    }
    if let ResponseFormat::JsonSchema { schema, name, .. } = &mut settings.response_format {
        let odd = choices.below(9);
        *schema = Arc::new(odd_schema(odd));
        if odd > 4 {
            *name = "response".into();
        }
    }
    if choices.below(4) == 3 {
        settings.service_tier = Some("auto".into());
    }
    if choices.below(4) == 3 {
        settings.stop.push(" \n".into());
    }
    settings
}

fn extension(path: &str, json: Value) -> Extension {
    Extension {
        dialect: "claude".into(),
        path: path.to_owned(),
        json,
    }
}

/// A user's message with what may stand around it: one of the system, another one of
/// the user's, and one of the model's that holds nothing to send.
fn around(message: Message, choices: &mut Choices, messages: &mut Vec<Message>) {
    let of = |role, text: &str| Message::new(role, vec![Block::text(text)]);
    if choices.below(4) == 3 {
        messages.push(of(Role::System, "Be brief."));
    }
    messages.push(message);
    match choices.below(6) {
        3 => messages.push(of(Role::User, "also this")),
        4 => messages.push(of(Role::System, "Speak softly.")),
        5 => {
            let thinking = Content::Thinking(Thinking {
                redacted: false,
                text: "hm".into(),
            });
            messages.push(Message::new(Role::Assistant, vec![thinking.into()]));
            messages.push(of(Role::User, "go on"));
        }
        _ => {}
    }
}

/// All tools, or none, or one of them twice.
fn tools(tools: &[Arc<ToolDefinition>], choices: &mut Choices) -> Vec<Arc<ToolDefinition>> {
    let mut dressed: Vec<_> = tools
        .iter()
        .map(|tool| Arc::new(dressed_tool(tool, choices)))
        .collect();
    match choices.below(8) {
        6 => dressed.clear(),
        7 => dressed.extend(dressed.first().map(Arc::clone)),
        _ => {}
    }
    dressed
}

fn dressed_tool(tool: &ToolDefinition, choices: &mut Choices) -> ToolDefinition {
    let mut tool = tool.clone();
    match choices.below(6) {
        2 => tool
            .extensions
            .push(extension("/cache_control", json!({ "type": "ephemeral" }))),
        3 => tool
            .extensions
            .push(extension("/allowed_callers", json!(["direct"]))),
        4 => tool.extensions.push(extension("/name", json!("other"))),
        _ => {}
    }
    if let InputFormat::Json(schema) = &mut tool.input {
        let odd = choices.below(15);
        if odd > 5 {
            *schema = Arc::new(odd_schema(odd - 6));
        }
    }
    tool
}

/// Schemas within the subset that can be enforced, at its edges, and far outside.
pub(crate) fn odd_schema(which: u8) -> Value {
    match which {
        0 => json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        1 => {
            json!({ "type": ["object", "null"], "properties": { "n": { "type": "integer", "minimum": 1, "maximum": 3 } } })
        }
        2 => {
            json!({ "properties": { "a": { "oneOf": [{ "type": "string", "pattern": "^a" }, { "type": "null" }] } } })
        }
        3 => json!(true),
        4 => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": { "Point": { "type": "object", "properties": { "x": { "type": "number", "default": 0 } }, "required": ["x"] } },
            "type": "object",
            "description": "A line.",
            "properties": { "from": { "$ref": "#/$defs/Point", "description": "where" }, "tags": { "type": "array", "items": { "type": ["string", "integer"] }, "minItems": 2 } },
            "required": ["from"],
        }),
        5 => {
            json!({ "type": "object", "properties": { "mode": { "type": "string", "enum": ["fast", "slow"] }, "when": { "type": "string", "format": "date-time" }, "ssn": { "type": "string", "format": "ssn" } }, "additionalProperties": true })
        }
        6 => json!({ "type": "object", "properties": { "free": {} } }),
        7 => json!({ "type": "object", "properties": {}, "anyOf": [{ "type": "object" }] }),
        _ => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
    }
}
