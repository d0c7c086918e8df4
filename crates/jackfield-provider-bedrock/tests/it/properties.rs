//! Names of properties that Claude does not take.

use std::sync::Arc;

use jackfield_dialect_kit::decode::DecodeReply as _;
use jackfield_domain::block::{CalledName, Content, RanBy, ToolCall};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_provider_bedrock::profile::ModelProfile;
use jackfield_provider_bedrock::reply::Decoder;
use jackfield_provider_bedrock::request::to_wire;
use serde_json::{Value, json};

use crate::reading::owner;
use crate::requests::request;

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

/// A conversation with a call of a tool with a property `zip code`.
fn conversation() -> ModelRequest {
    let schema = json!({ "type": "object", "properties": { "zip code": { "type": "string" } } });
    let tool = ToolDefinition {
        description: "Tells the weather.".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(schema)),
        name: ToolName::parse("weather").unwrap(),
        output: None,
        strict: None,
    };
    let call = Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse("c1").unwrap(),
        input: ToolInput::Json(JsonInput::parse("{\"zip code\":\"0150\"}")),
        name: CalledName::new("weather"),
        ran_by: RanBy::Engine,
        upstream: None,
    }));
    let mut request = request();
    request.messages = [
        Message::user("What is the weather?"),
        Message::new(Role::Assistant, vec![call.into()]),
    ]
    .into_iter()
    .collect();
    request.tools = Arc::new(vec![Arc::new(tool)]);
    request
}

fn body(model: &str) -> Value {
    let made = to_wire(&conversation(), &owner(), &ModelProfile::of(model)).unwrap();
    serde_json::to_value(made.0).unwrap()
}

fn property(body: &Value) -> &str {
    let schema = &body["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"];
    let properties = schema["properties"].as_object().unwrap();
    properties.keys().next().unwrap()
}

#[test]
fn claude_takes_a_property_under_a_name_that_it_accepts() {
    let body = body(CLAUDE);
    let wire = property(&body);
    assert!(wire.starts_with("zip_code_"), "{wire}");
    let call = &body["messages"][1]["content"][0]["toolUse"];
    assert_eq!(call["input"], json!({ wire: "0150" }));

    let mut decoder = Decoder::for_request(owner(), &conversation(), &ModelProfile::of(CLAUDE));
    let mut arguments = String::new();
    let half = format!("{{\"{wire}\":");
    let call = json!({ "toolUse": { "toolUseId": "t1", "name": "weather" } });
    for (name, event) in [
        (
            "contentBlockStart",
            json!({ "contentBlockIndex": 0, "start": call }),
        ),
        (
            "contentBlockDelta",
            json!({ "contentBlockIndex": 0, "delta": { "toolUse": { "input": half } } }),
        ),
        (
            "contentBlockDelta",
            json!({ "contentBlockIndex": 0, "delta": { "toolUse": { "input": "\"0151\"}" } } }),
        ),
        ("contentBlockStop", json!({ "contentBlockIndex": 0 })),
    ] {
        for delta in decoder.push(Some(name), &event.to_string()).unwrap() {
            if let Delta::ArgumentsAppended { text, .. } = delta {
                arguments.push_str(&text);
            }
        }
    }
    assert_eq!(arguments, r#"{"zip code":"0151"}"#);
}

#[test]
fn other_models_take_any_property() {
    let body = body("us.amazon.nova-pro-v1:0");
    assert_eq!(property(&body), "zip code");
    let call = &body["messages"][1]["content"][0]["toolUse"];
    assert_eq!(call["input"], json!({ "zip code": "0150" }));
}
