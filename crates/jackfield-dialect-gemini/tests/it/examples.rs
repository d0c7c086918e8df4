//! Requests as they are sent, in full.

use std::sync::Arc;

use jackfield_dialect_gemini::options::Profile;
use jackfield_dialect_gemini::request;
use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use crate::arb::{owner, signed};

fn call(id: &str, arguments: &str) -> Block {
    Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse(arguments)),
        name: CalledName::new("7zip"),
        ran_by: RanBy::Engine,
        upstream: None,
    }))
    .into()
}

fn outcome(id: &str, result: ToolResult) -> Block {
    Content::ToolOutcome(Arc::new(ToolOutcome {
        call: ToolCallId::parse(id).expect("an id"),
        opaque: Vec::new(),
        result,
    }))
    .into()
}

/// Two parallel calls of a tool whose name begins with a digit, of which the first is signed.
fn request() -> ModelRequest {
    let mut first = call("call_1", "{\"file\":\"a\"}");
    first.opaque.push(signed("c2ln"));
    let messages = [
        Message::user("Unpack both."),
        Message::new(Role::Assistant, vec![first, call("call_2", "")]),
        Message::new(
            Role::Tool,
            vec![
                outcome("call_1", ToolResult::text("done")),
                outcome("call_2", ToolResult::error("no such file")),
            ],
        ),
    ];
    let schema = json!({ "type": "object", "properties": { "file": { "type": "string" } } });
    let tool = ToolDefinition {
        description: "Unpacks.".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(schema)),
        name: ToolName::parse("7zip").expect("a name"),
        output: None,
        strict: None,
    };
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: messages.into_iter().collect(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "gemini".into(),
        },
        turn: None,
        settings: Arc::new(Settings {
            max_output_tokens: Some(100),
            ..Settings::default()
        }),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::new(vec![Arc::new(tool)]),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

fn body(request: &ModelRequest) -> (Value, Vec<String>) {
    let made = request::to_wire(request, &owner(), &Profile::NEWEST);
    let (body, notes) = made.expect("a body");
    let codes = notes
        .iter()
        .map(|note| format!("{} {}", note.code, note.path));
    (serde_json::to_value(&body).expect("JSON"), codes.collect())
}

#[test]
fn parallel_calls_stand_in_one_content_and_their_results_in_the_next() {
    let (body, notes) = body(&request());
    let expected = json!({
        "tools": [{ "functionDeclarations": [{
            "name": "_7zip",
            "description": "Unpacks.",
            "parametersJsonSchema": { "type": "object", "properties": { "file": { "type": "string" } } },
        }] }],
        "contents": [
            { "role": "user", "parts": [{ "text": "Unpack both." }] },
            { "role": "model", "parts": [
                { "functionCall": { "id": "call_1", "name": "_7zip", "args": { "file": "a" } }, "thoughtSignature": "c2ln" },
                { "functionCall": { "id": "call_2", "name": "_7zip", "args": {} } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "call_1", "name": "_7zip", "response": { "output": "done" } } },
                { "functionResponse": { "id": "call_2", "name": "_7zip", "response": { "error": "no such file" } } },
            ] },
        ],
        "generationConfig": { "maxOutputTokens": 100 },
    });
    assert_eq!(body, expected);
    assert_eq!(
        notes,
        [
            "tool_name_changed tools[0].name",
            "tool_name_changed messages[1].blocks[0].name",
            "tool_name_changed messages[1].blocks[1].name",
        ]
    );
}

#[test]
fn calls_of_another_model_get_the_vendors_word_for_a_missing_signature_and_keep_it() {
    let mut request = request();
    let unsigned = |message: &Message| {
        let mut message = message.clone();
        message
            .blocks
            .iter_mut()
            .for_each(|block| block.opaque.clear());
        message
    };
    let messages: Vec<Message> = request.messages.iter().map(|one| unsigned(one)).collect();
    let signature = |request: &ModelRequest| {
        let (body, notes) = body(request);
        let part = &body["contents"][1]["parts"];
        let noted = notes
            .iter()
            .any(|note| note.starts_with("signature_missing"));
        let signatures = [&part[0], &part[1]].map(|part| part["thoughtSignature"].clone());
        (signatures, noted)
    };
    request.messages = messages.iter().cloned().collect();
    let word = json!("skip_thought_signature_validator");
    assert_eq!(signature(&request), ([word.clone(), Value::Null], true));
    let more = [
        Message::new(Role::Assistant, vec![Block::text("Done.")]),
        Message::user("Thanks."),
    ];
    request.messages = messages.into_iter().chain(more).collect();
    assert_eq!(signature(&request), ([word, Value::Null], true));
}

/// As the Python SDK writes a history: snake case, base64 of URLs, no ids, results in the order of the calls.
#[test]
fn a_history_in_snake_case_and_without_ids_is_read() {
    let body = json!({ "contents": [
        { "parts": [{ "text": "Time?" }, { "inline_data": { "mime_type": "image/png", "data": "_-8" } }] },
        { "role": "model", "parts": [
            { "function_call": { "name": "clock", "args": { "tz": "a" } }, "thought_signature": "_-8=" },
            { "function_call": { "name": "clock", "args": { "tz": "b" } } },
        ] },
        { "role": "function", "parts": [
            { "function_response": { "name": "clock", "response": { "result": "12:00" } } },
            { "function_response": { "name": "clock", "response": { "output": ["12:00", "noon"] } } },
            { "text": "And now?" },
        ] },
    ] });
    let parsed = request::parse(body.to_string().as_bytes()).expect("a body");
    let incoming = request::from_wire(parsed, "model-a", &owner()).expect("a request");
    let [user, model, tool, again] = &*incoming.messages else {
        panic!("{:#?}", incoming.messages);
    };
    let calls: Vec<_> = model.calls().map(|call| call.id.clone()).collect();
    let outcomes: Vec<_> = tool
        .blocks
        .iter()
        .map(|block| match &block.content {
            Content::ToolOutcome(outcome) => (outcome.call.clone(), outcome.result.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    let structured = ToolResult {
        structured: Some(Arc::new(json!({ "result": "12:00" }))),
        ..ToolResult::text(r#"{"result":"12:00"}"#)
    };
    let mut texts = ToolResult::text("12:00");
    texts.content.extend(ToolResult::text("noon").content);
    assert_eq!(
        outcomes,
        [(calls[0].clone(), structured), (calls[1].clone(), texts)]
    );
    assert_eq!(model.blocks[0].opaque, [signed("/+8=")]);
    assert_eq!(again.to_text(), "And now?");
    let Content::Image(image) = &user.blocks[1].content else {
        panic!("{user:?}");
    };
    assert!(format!("{image:?}").contains("/+8="), "{image:?}");
}

#[test]
fn what_is_no_request_is_refused_with_its_place() {
    let of = |parts: Value| json!({ "contents": [{ "role": "model", "parts": parts }] });
    for (body, path) in [
        (
            json!({ "contents": [{ "role": "system", "parts": [] }] }),
            "contents.0.role",
        ),
        (
            of(json!([{ "functionCall": { "name": "a", "args": [] } }])),
            "contents.0.parts.0.functionCall.args",
        ),
        (
            of(json!([{ "functionResponse": { "name": "a" } }])),
            "contents.0.parts.0",
        ),
        (of(json!([{}])), "contents.0.parts.0"),
        (
            json!({ "contents": [], "generationConfig": { "candidateCount": 2 } }),
            "generationConfig.candidateCount",
        ),
        (
            json!({ "contents": [], "generationConfig": { "temperature": 3 } }),
            "generationConfig.temperature",
        ),
        (
            json!({ "contents": [], "toolConfig": { "functionCallingConfig": { "mode": "MAYBE" } } }),
            "toolConfig.functionCallingConfig.mode",
        ),
    ] {
        let read = request::parse(body.to_string().as_bytes())
            .and_then(|parsed| request::from_wire(parsed, "model-a", &owner()));
        let refused = read.expect_err("no request");
        assert_eq!(refused.path, path, "{body}");
    }
}
