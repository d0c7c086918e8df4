//! Requests and replies as the testkit makes them, dressed with what this dialect alone knows.

use std::sync::Arc;

use jackfield_dialect_gemini::options::Profile;
use jackfield_domain::block::{Block, Content, OpaqueBlock, RanBy, Thinking, ToolCall};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolName, TurnId};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{Extension, OpaqueState, StateOwner, StateScope};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome};
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

pub(crate) fn owner() -> StateOwner {
    StateOwner {
        dialect: "gemini".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

/// Of the newest models and of the oldest, and of those between that differ.
pub(crate) fn profile() -> impl Strategy<Value = Profile> + Clone {
    let models = [
        "gemini-3.8-flash",
        "gemini-3.1-pro-preview",
        "gemini-2.5-flash",
        "gemini-2.5-pro",
        "gemini-2.0-flash",
    ];
    select(models.to_vec()).prop_map(Profile::of)
}

/// A request as a turn may send it. User messages hold nothing here that would be refused.
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

/// A reply whose arguments are all JSON objects: the wire has nothing else.
pub(crate) fn reply() -> BoxedStrategy<Reply> {
    let (turn, attempt) = attempt();
    let dressed =
        (arb::reply(turn, attempt), vec(any::<u8>(), 12..24)).prop_map(|(reply, choices)| {
            let mut choices = Choices { choices, next: 0 };
            let mut message = dressed(&reply.message, &mut choices);
            for block in &mut message.blocks {
                block.cache = None;
                let Content::ToolCall(call) = &block.content else {
                    continue;
                };
                let is_object = match &call.input {
                    ToolInput::Json(input) => input.object().is_ok(),
                    ToolInput::Text(_) => false,
                };
                if !is_object {
                    block.content = Content::ToolCall(Arc::new(ToolCall {
                        input: ToolInput::Json(JsonInput::parse("{\"mended\":true}")),
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

pub(crate) fn signed(signature: &str) -> OpaqueState {
    OpaqueState {
        kind: "thought_signature".into(),
        json: json!({ "id": signature }),
        owner: owner(),
        scope: StateScope::Block,
    }
}

fn dressed(message: &Message, choices: &mut Choices) -> Message {
    let mut message = message.clone();
    for block in &mut message.blocks {
        let content = block.content.clone();
        match content {
            Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
                elsewhere(block, message.role);
            }
            Content::Refusal(_) => {}
            Content::Opaque(_) => {
                if choices.below(3) > 0 {
                    block.content = code(message.role, choices);
                }
            }
            Content::Text(_) if message.role == Role::Assistant => {
                if choices.below(5) == 4 {
                    block.opaque = vec![signed("c2ln")];
                }
            }
            Content::Text(_) => {}
            Content::Thinking(_) => match choices.below(4) {
                1 => block.opaque = vec![signed("c2ln")],
                2 => block.opaque = vec![signed("")],
                _ => {}
            },
            Content::ToolCall(call) => {
                if call.ran_by != RanBy::Provider && choices.below(3) == 2 {
                    block.opaque = vec![signed("Y2FsbA==")];
                }
            }
            Content::ToolOutcome(outcome) => match choices.below(6) {
                3 => block.content = with_picture_first(&outcome),
                4 => block.content = structured(&outcome, json!({ "celsius": -3 })),
                5 => block.content = structured(&outcome, json!([1, 2])),
                // What is read from the wire repeats a structured value as text.
                _ => match &outcome.result.structured {
                    Some(json) if outcome.result.content.is_empty() => {
                        block.content = structured(&outcome, (**json).clone());
                    }
                    Some(_) | None => {}
                },
            },
        }
    }
    message
}

/// Only the owner knows the files of others, and a user's would be refused.
fn elsewhere(block: &mut Block, role: Role) {
    let source = match &mut block.content {
        Content::Audio(audio) => &mut audio.source,
        Content::Document(document) => &mut document.source,
        Content::Image(image) => &mut image.source,
        Content::Opaque(_)
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

/// A part that the mappers do not handle.
fn code(role: Role, choices: &mut Choices) -> Content {
    let (kind, json) = if role == Role::User {
        let blob = json!({ "mimeType": "video/mp4", "data": "AAAA" });
        (
            "inlineData",
            json!({ "inlineData": blob, "videoMetadata": { "fps": 2.0 } }),
        )
    } else {
        let code = json!({ "language": "PYTHON", "code": "print(1)" });
        ("executableCode", json!({ "executableCode": code }))
    };
    let fallback = (choices.below(2) == 1).then(|| "some code".into());
    Content::Opaque(OpaqueBlock {
        fallback,
        json,
        kind: kind.into(),
        owner: owner(),
    })
}

fn with_picture_first(outcome: &ToolOutcome) -> Content {
    let mut outcome = outcome.clone();
    let picture = OutcomePart::Image(Image {
        detail: None,
        source: MediaSource::Base64 {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        },
    });
    outcome.result.content.insert(0, picture);
    outcome
        .result
        .content
        .push(OutcomePart::Text("and so on".into()));
    Content::ToolOutcome(Arc::new(outcome))
}

fn structured(outcome: &ToolOutcome, json: Value) -> Content {
    let mut outcome = outcome.clone();
    outcome.result.content = vec![OutcomePart::Text(json.to_string().into())];
    outcome.result.structured = Some(Arc::new(json));
    Content::ToolOutcome(Arc::new(outcome))
}

fn settings(settings: &Settings, choices: &mut Choices) -> Settings {
    let mut settings = settings.clone();
    match choices.below(9) {
        3 => settings
            .extensions
            .push(extension("/safetySettings", json!([]))),
        4 => settings
            .extensions
            .push(extension("/cachedContent", json!("cachedContents/1"))),
        5 => settings.extensions.push(extension(
            "/generationConfig/mediaResolution",
            json!("MEDIA_RESOLUTION_LOW"),
        )),
        6 => settings
            .extensions
            .push(extension("/tools/googleSearch", json!({}))),
        7 => settings.extensions.push(extension(
            "/toolConfig/includeServerSideToolInvocations",
            json!(true),
        )),
        8 => settings
            .extensions
            .push(extension("/tools/mcpServers", json!([]))),
        _ => {}
    }
    if let ResponseFormat::JsonSchema { schema, name, .. } = &mut settings.response_format {
        let odd = choices.below(12);
        *schema = Arc::new(odd_schema(odd));
        if odd > 4 {
            *name = "response".into();
        }
    }
    match choices.below(5) {
        3 => settings.service_tier = Some("flex".into()),
        4 => settings.effort = Some(Effort::Max),
        _ => {}
    }
    match choices.below(5) {
        3 => settings.stop.push("".into()),
        4 => settings
            .stop
            .extend(["a", "b", "c", "d", "e", "f"].map(Into::into)),
        _ => {}
    }
    match choices.below(8) {
        5 => settings.temperature = Some(3.0),
        6 => settings.max_output_tokens = Some(u32::MAX),
        7 => settings.seed = Some(i64::MAX),
        _ => {}
    }
    settings
}

fn extension(path: &str, json: Value) -> Extension {
    Extension {
        dialect: "gemini".into(),
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
    match choices.below(7) {
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
        6 => {
            messages.push(of(Role::Assistant, "One."));
            messages.push(of(Role::Assistant, "Two."));
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
            .push(extension("/behavior", json!("BLOCKING"))),
        3 => tool.extensions.push(extension("/name", json!("other"))),
        4 => tool.name = ToolName::parse("7zip").expect("a name"),
        _ => {}
    }
    if let InputFormat::Json(schema) = &mut tool.input {
        let odd = choices.below(18);
        if odd > 5 {
            *schema = Arc::new(odd_schema(odd - 6));
        }
    }
    tool
}

/// Schemas within the subset that is honoured, at its edges, and far outside.
pub(crate) fn odd_schema(which: u8) -> Value {
    match which {
        0 => json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        1 => {
            json!({ "type": ["object", "null"], "properties": { "n": { "type": "integer", "minimum": 1, "exclusiveMaximum": 3 } } })
        }
        2 => {
            json!({ "properties": { "a": { "oneOf": [{ "type": "string", "pattern": "^a" }, { "type": "null" }] } } })
        }
        3 => json!(true),
        4 => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "definitions": { "Point": { "type": "object", "properties": { "x": { "type": "number", "default": 0 } }, "required": ["x"] } },
            "type": "object",
            "description": "A line.",
            "properties": {
                "from": { "$ref": "#/definitions/Point", "description": "where" },
                "to": { "$ref": "#/definitions/Point" },
                "via": { "$ref": "#/properties/from" },
                "tags": { "type": "array", "items": { "type": ["string", "integer"] }, "minItems": 2 },
            },
            "required": ["from"],
        }),
        5 => {
            json!({ "type": "object", "properties": { "mode": { "type": "string", "enum": ["fast", "slow"] }, "when": { "type": "string", "format": "date-time" }, "ssn": { "type": "string", "format": "ssn" } }, "additionalProperties": true })
        }
        6 => {
            json!({ "type": "object", "properties": { "free": {}, "any": true, "never": false } })
        }
        7 => {
            json!({ "type": "object", "properties": { "kind": { "const": "a" }, "flag": { "const": true }, "mixed": { "enum": ["a", null] } } })
        }
        8 => json!({
            "type": "object",
            "$defs": { "Node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" }, "name": { "type": "string" } }, "required": ["next", "name"] } },
            "properties": { "root": { "$ref": "#/$defs/Node" } },
            "required": ["root"],
        }),
        9 => {
            json!({ "type": "object", "properties": { "both": { "allOf": [{ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }, { "properties": { "b": { "type": "string" } }, "required": ["b"], "description": "B." }], "description": "A." } } })
        }
        10 => json!({ "type": "object" }),
        _ => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
    }
}
