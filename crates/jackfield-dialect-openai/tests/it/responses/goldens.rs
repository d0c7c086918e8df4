//! What is made of the vendor's own forms, to be looked at by a person.
//!
//! The forms are those of the official SDK's types (`openai` 3.54.0 on PyPI, 2026-11), with made-up values.

use std::fmt::Write as _;
use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::responses::request;
use jackfield_dialect_openai::responses::stream::{DecodeReply as _, Decoder};
use jackfield_domain::block::{Block, CachePoint, CalledName, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, Verbosity};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use super::arb::{own_state, part, reasoning};
use super::owner;
use super::reply_laws::encoded;

/// A turn with reasoning, a call and a picture as its outcome.
fn full() -> ModelRequest {
    let mut question = Block::text("What time is it?");
    question.cache = Some(CachePoint {
        seconds: Some(1800),
    });
    let mut thought = Block::from(Content::Thinking(Thinking {
        redacted: false,
        text: "A clock is needed.".into(),
    }));
    thought.opaque = vec![own_state(
        "reasoning_item",
        reasoning(1, "A clock is needed.", Some("ZW5jcnlwdGVk")),
    )];
    let mut words = Block::text("One moment.");
    words.opaque = vec![own_state("message_item", part("msg_1", 0))];
    let id = ToolCallId::parse("call_a").expect("an id");
    let mut call = Block::from(Content::ToolCall(Arc::new(ToolCall {
        id: id.clone(),
        input: ToolInput::Json(JsonInput::parse("{\"tz\": \"UTC\"}")),
        name: CalledName::new("clock"),
        ran_by: RanBy::Engine,
        upstream: None,
    })));
    call.opaque = vec![own_state(
        "call_item",
        json!({ "id": "fc_1", "status": "completed" }),
    )];
    let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
        call: id,
        opaque: Vec::new(),
        result: ToolResult {
            content: vec![
                OutcomePart::Text("no such zone".into()),
                OutcomePart::Image(Image {
                    detail: None,
                    source: MediaSource::Base64 {
                        media_type: "image/png".into(),
                        data: "iVBORw0KGgo=".into(),
                    },
                }),
            ],
            is_error: true,
            structured: None,
        },
    }));
    let messages = [
        Message::new(Role::User, vec![question]),
        Message::new(Role::Assistant, vec![thought, words, call]),
        Message::new(Role::Tool, vec![outcome.into()]),
        Message::new(Role::System, vec![Block::text("Be brief.")]),
        Message::user("In words, please."),
    ];
    let system = SystemPart {
        origin: PartOrigin::Default,
        text: "You are a careful assistant.".into(),
    };
    ModelRequest {
        choice: ToolChoice::Named(ToolName::parse("clock").expect("a name")),
        messages: messages.into_iter().collect(),
        model: ModelRef {
            model: "gpt-6-astra".into(),
            provider: "openai".into(),
        },
        turn: None,
        settings: Arc::new(Settings {
            effort: Some(Effort::Low),
            end_user: Some("u_1".into()),
            max_output_tokens: Some(4000),
            parallel_calls: Some(false),
            response_format: ResponseFormat::JsonObject,
            seed: Some(7),
            stop: vec!["END".into()],
            temperature: Some(0.2),
            thinking_shown: Some(true),
            verbosity: Some(Verbosity::Low),
            ..Settings::default()
        }),
        strict: None,
        system: Arc::new(SystemPrompt {
            parts: vec![system],
        }),
        tools: Arc::new(vec![
            tool(
                "clock",
                InputFormat::Json(Arc::new(
                    json!({ "type": "object", "properties": { "tz": { "type": "string" } } }),
                )),
            ),
            tool("shell", InputFormat::Text(None)),
        ]),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

fn tool(name: &str, input: InputFormat) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        description: "Does it.".into(),
        extensions: Vec::new(),
        input,
        name: ToolName::parse(name).expect("a name"),
        output: None,
        strict: None,
    })
}

fn body(profile: &Profile) -> String {
    let (body, notes) = request::to_wire(&full(), &owner(), profile, true).expect("it can be said");
    // Of the text that is sent: tools are texts in it already.
    let sent = serde_json::to_string(&body).expect("JSON");
    let body: Value = serde_json::from_str(&sent).expect("JSON");
    let mut text = serde_json::to_string_pretty(&body).expect("JSON");
    for note in &notes {
        let (kind, effect) = (note.kind, note.effect);
        write!(text, "\n{kind:?} {effect:?} {} at {}", note.code, note.path)
            .expect("a string takes everything");
    }
    text
}

#[test]
fn a_full_request_to_the_vendor() {
    insta::assert_snapshot!(body(&Profile::OPENAI));
}

#[test]
fn a_full_request_to_a_server_of_ones_own() {
    insta::assert_snapshot!(body(&Profile::LLAMA_CPP));
}

#[test]
fn a_clients_request() {
    let body = json!({
        "model": "gpt-6-astra",
        "instructions": "Be kind.",
        "input": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [
                { "type": "input_text", "text": "Look:" },
                { "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low" },
            ] },
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZQ==" },
            { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary", "content": [
                { "type": "output_text", "text": "I see.", "annotations": [{ "type": "url_citation", "url": "https://source.example", "title": "Source", "start_index": 0, "end_index": 5 }] },
                { "type": "refusal", "refusal": "But no." },
            ] },
            { "type": "function_call", "id": "fc_1", "call_id": "call with blanks", "name": "clock", "arguments": "{\"tz\":\"UTC\"}" },
            { "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_b", "name": "shell", "input": "ls" },
            { "type": "function_call_output", "call_id": "call with blanks", "output": "12:00" },
            { "type": "custom_tool_call_output", "call_id": "call_b", "output": [{ "type": "input_text", "text": "a.txt" }] },
            { "type": "web_search_call", "id": "ws_1", "status": "completed" },
            { "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true },
        ],
        "tools": [
            { "type": "function", "name": "clock", "parameters": null, "strict": true },
            { "type": "custom", "name": "shell", "format": { "type": "grammar", "syntax": "regex", "definition": "[a-z]+" } },
            { "type": "mcp", "server_label": "s", "server_url": "https://mcp.example" },
        ],
        "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": [{ "type": "function", "name": "clock" }] },
        "previous_response_id": "resp_0",
        "background": false,
        "conversation": null,
        "store": true,
        "reasoning": { "effort": "xhigh", "summary": "detailed" },
        "include": ["reasoning.encrypted_content", "web_search_call.results"],
        "stream": true,
    });
    let body = request::parse(body.to_string().as_bytes()).expect("a body");
    let incoming = request::from_wire(body, &owner()).expect("it can be read");
    insta::assert_snapshot!(format!("{incoming:#?}"));
}

#[test]
fn the_events_of_a_reply() {
    let bytes = json!({ "status": "completed", "output": [
        reasoning(1, "Hm.", Some("ZQ==")),
        { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{ "type": "output_text", "text": "One moment.", "annotations": [] }] },
        { "type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "clock", "arguments": "{}" },
    ] });
    let decoder = Decoder::new(owner());
    let (deltas, _) = decoder
        .read_whole(bytes.to_string().as_bytes())
        .expect("a whole reply");
    let events = encoded(&deltas, &ReplyEnd::new(FinishReason::ToolCalls));
    let mut text = String::new();
    for event in &events {
        let data: Value = serde_json::from_str(&event.data).expect("JSON");
        writeln!(text, "{data}").expect("a string takes everything");
    }
    insta::assert_snapshot!(text);
}
