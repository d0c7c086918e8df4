//! Tools that a client groups in namespaces, as coding agents do.

use jackfield_dialect_kit::incoming::Incoming;
use jackfield_dialect_kit::serve::{ReplyInfo, ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::serve::Responses;
use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::tool::InputFormat;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use super::{about, owner};

fn read(body: &Value) -> Result<Incoming, ServeError> {
    Responses.request(&|_| None, body.to_string().as_bytes(), &|_| owner())
}

/// A request in the form of a coding agent: groups of tools in the body and in an item, and calls of both.
fn request() -> Value {
    json!({
        "model": "model-a",
        "input": [
            {
                "type": "additional_tools", "id": "at_1", "role": "developer",
                "tools": [
                    { "type": "namespace", "name": "functions", "description": "", "tools": [
                        { "type": "custom", "name": "exec", "description": "Run code.", "format": { "type": "text" } },
                    ] },
                ],
            },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Go." }] },
            { "type": "custom_tool_call", "call_id": "call_1", "name": "exec", "namespace": "functions", "input": "1 + 1" },
            { "type": "custom_tool_call_output", "call_id": "call_1", "output": "2" },
            { "type": "function_call", "call_id": "call_2", "name": "sleep", "namespace": "clock", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "call_2", "output": "slept" },
        ],
        "tools": [
            { "type": "function", "name": "plan", "parameters": { "type": "object" } },
            { "type": "namespace", "name": "clock", "description": "Tools for time.", "tools": [
                { "type": "function", "name": "sleep", "description": "Wait.", "parameters": { "type": "object" } },
                { "type": "function", "name": "now", "parameters": { "type": "object" } },
            ] },
            { "type": "tool_search", "execution": "client" },
        ],
    })
}

#[test]
fn tools_of_namespaces_are_plain_tools_with_names_of_their_own() {
    let incoming = read(&request()).expect("a request");
    let tools = incoming.tools.iter();
    let tools: Vec<(&str, &str, bool)> = tools
        .map(|tool| {
            let is_text = matches!(tool.input, InputFormat::Text(_));
            (tool.name.as_str(), &*tool.description, is_text)
        })
        .collect();
    let expected = [
        ("plan", "", false),
        ("clock__sleep", "Tools for time.\n\nWait.", false),
        ("clock__now", "Tools for time.", false),
        ("exec", "Run code.", true),
    ];
    assert_eq!(tools, expected);
    let blocks = incoming.messages.iter().flat_map(|message| &message.blocks);
    let called: Vec<&str> = blocks
        .filter_map(|block| match &block.content {
            Content::ToolCall(call) => Some(call.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(called, ["exec", "clock__sleep"]);
    let notes = incoming.notes.iter();
    let notes: Vec<(&str, &str, NoteEffect)> = notes
        .map(|note| (&*note.code, &*note.path, note.effect))
        .collect();
    assert_eq!(
        notes,
        [(
            "hosted_tool_left_out",
            "tools.tool_search",
            NoteEffect::Quality
        )]
    );
}

#[test]
fn calls_of_a_reply_name_their_namespace_whole_and_streamed() {
    let echo = read(&request()).expect("a request").echo;
    let about = ReplyInfo { echo, ..about() };
    let names = ["clock__sleep", "exec", "plan", "unknown"];
    let call = |n: usize| ToolCallId::parse(&format!("call_{n}")).expect("an id");
    let blocks = names.iter().enumerate().map(|(n, name)| {
        let call = Content::ToolCall(std::sync::Arc::new(ToolCall {
            id: call(n),
            input: ToolInput::Json(JsonInput::parse("{}")),
            name: CalledName::new(name),
            ran_by: RanBy::Client,
            upstream: None,
        }));
        Block::from(call)
    });
    let end = ReplyEnd::new(FinishReason::ToolCalls);
    let reply = Reply {
        end: end.clone(),
        message: Message::new(Role::Assistant, blocks.collect()).into(),
    };
    let (whole, _) = Responses.reply(&reply, &about);
    let whole: Value = serde_json::from_slice(&whole).expect("JSON");
    let named = |item: &Value| (item["namespace"].clone(), item["name"].clone());
    let items = |response: &Value| -> Vec<(Value, Value)> {
        response["output"]
            .as_array()
            .expect("items")
            .iter()
            .map(named)
            .collect()
    };
    let expected = [
        (json!("clock"), json!("sleep")),
        (json!("functions"), json!("exec")),
        (Value::Null, json!("plan")),
        (Value::Null, json!("unknown")),
    ];
    assert_eq!(items(&whole), expected);
    // The table is for the encoder: no client sees it.
    assert_eq!(whole.get("namespaces"), None);
    assert_eq!(whole["tools"].as_array().map(Vec::len), Some(3));

    let mut encoder = Responses.encoder(&about);
    let mut events = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let index = u32::try_from(n).expect("few");
        let start = BlockStart::ToolCall {
            json: true,
            name: (*name).into(),
            ran_by: RanBy::Client,
            upstream: None,
        };
        events.extend(encoder.push(&Delta::BlockStarted { index, start }, Some(&call(n))));
        events.extend(encoder.push(&Delta::BlockEnded { index }, None));
    }
    events.extend(encoder.finish(&end));
    let events: Vec<Value> = events
        .iter()
        .map(|event| serde_json::from_str(&event.data).expect("JSON"))
        .collect();
    for kind in ["response.output_item.added", "response.output_item.done"] {
        let told: Vec<(Value, Value)> = events
            .iter()
            .filter(|event| event["type"] == kind)
            .map(|event| named(&event["item"]))
            .collect();
        assert_eq!(told, expected, "{kind}");
    }
    assert_eq!(items(&events.last().expect("an end")["response"]), expected);
}

#[test]
fn what_is_wrong_with_a_namespace_is_named() {
    let tool = json!({ "type": "function", "name": "f" });
    let cases = [
        (
            json!([{ "type": "namespace", "tools": [tool] }]),
            "tools.0.name",
        ),
        (
            json!([{ "type": "namespace", "name": "n", "tools": {} }]),
            "tools.0.tools",
        ),
        (
            json!([tool, { "type": "namespace", "name": "functions", "tools": [tool] }]),
            "tools.1.tools.0.name",
        ),
    ];
    for (tools, param) in cases {
        let body = json!({ "model": "model-a", "input": "Hello", "tools": tools });
        let error = read(&body).expect_err(param);
        assert_eq!(error.kind, ServeErrorKind::Invalid, "{tools}");
        assert_eq!(error.param.as_deref(), Some(param), "{tools}");
    }
    let body = json!({ "model": "model-a", "input": [{ "type": "additional_tools", "role": "developer" }] });
    let error = read(&body).expect_err("no tools");
    assert_eq!(error.param.as_deref(), Some("input.0.tools"));
}
