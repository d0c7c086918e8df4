//! Single cases of the request mapper, each with what it is about.

use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request;
use jackfield_domain::block::{Block, Content, RanBy, Thinking, ToolCall, UpstreamId};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::media::{Audio, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::Extension;
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

use crate::arb::{own_state, owner};

/// A request that says hello.
pub(crate) fn request() -> ModelRequest {
    of(vec![Message::user("hello")])
}

/// A request of these messages, with one tool.
pub(crate) fn of(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: messages.into_iter().collect(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "p".into(),
        },
        turn: None,
        settings: Arc::new(Settings {
            max_output_tokens: Some(100),
            ..Settings::default()
        }),
        strict: None,
        system: Arc::default(),
        tools: Arc::new(vec![Arc::new(ToolDefinition {
            description: "Tells the time.".into(),
            extensions: Vec::new(),
            input: InputFormat::Json(Arc::new(
                json!({ "type": "object", "properties": { "tz": { "type": "string" } } }),
            )),
            name: ToolName::parse("clock").expect("a name"),
            output: None,
            strict: None,
        })]),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

pub(crate) fn call(id: &str, upstream: Option<&str>, input: &str) -> Block {
    let upstream = upstream.map(|id| UpstreamId {
        id: id.into(),
        owner: owner(),
    });
    Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse(id).expect("an id"),
        input: ToolInput::Json(JsonInput::parse(input)),
        name: (&ToolName::parse("clock").expect("a name")).into(),
        ran_by: RanBy::Engine,
        upstream,
    }))
    .into()
}

pub(crate) fn outcome(id: &str, result: ToolResult) -> Block {
    Content::ToolOutcome(Arc::new(ToolOutcome {
        call: ToolCallId::parse(id).expect("an id"),
        result,
        opaque: Vec::new(),
    }))
    .into()
}

fn thinking(text: &str, signature: Option<&str>) -> Block {
    let mut block = Block::from(Content::Thinking(Thinking {
        redacted: false,
        text: text.into(),
    }));
    block.opaque = signature
        .map(|text| own_state("signature", json!(text)))
        .into_iter()
        .collect();
    block
}

/// Maps a request and compares the messages of the body, and the codes of the notes.
#[track_caller]
fn check(request: &ModelRequest, profile: &Profile, messages: Value, codes: &[&str]) {
    let (body, notes) = request::to_wire(request, &owner(), profile, true).expect("it can be said");
    let body = serde_json::to_value(&body).expect("JSON");
    assert_eq!(body["messages"], messages);
    let told: Vec<&str> = notes.iter().map(|note| &*note.code).collect();
    assert_eq!(told, codes);
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[test]
fn results_and_what_the_user_says_after_them_are_one_message_results_first() {
    let request = of(vec![
        Message::user("what time is it?"),
        Message::new(
            Role::Assistant,
            vec![
                Block::text("One moment."),
                call("call_a", Some("toolu_1"), "{\"tz\":\"UTC\"}"),
                call("call_b", None, ""),
            ],
        ),
        Message::new(
            Role::Tool,
            vec![
                outcome("call_a", ToolResult::text("12:00")),
                outcome("call_b", ToolResult::error("no zone")),
            ],
        ),
        Message::user("in words, please"),
    ]);
    let messages = json!([
        { "role": "user", "content": [text("what time is it?")] },
        { "role": "assistant", "content": [
            text("One moment."),
            { "type": "tool_use", "id": "toolu_1", "name": "clock", "input": { "tz": "UTC" } },
            { "type": "tool_use", "id": "call_b", "name": "clock", "input": {} },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": "12:00" },
            { "type": "tool_result", "tool_use_id": "call_b", "content": "no zone", "is_error": true },
            text("in words, please"),
        ] },
    ]);
    check(&request, &Profile::NEWEST, messages, &[]);
}

#[test]
fn thinking_goes_back_to_its_owner_and_to_nobody_else() {
    let mut of_another = thinking("elsewhere", Some("sig"));
    of_another.opaque[0].owner.model = "model-b".into();
    let request = of(vec![
        Message::user("hi"),
        Message::new(
            Role::Assistant,
            vec![
                thinking("hm", Some("sig")),
                of_another,
                thinking("unsigned", None),
                Block::text("hello"),
            ],
        ),
        Message::user("again"),
    ]);
    let messages = json!([
        { "role": "user", "content": [text("hi")] },
        { "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm", "signature": "sig" }, text("hello")] },
        { "role": "user", "content": [text("again")] },
    ]);
    check(
        &request,
        &Profile::NEWEST,
        messages,
        &["thinking_withheld", "thinking_withheld"],
    );
}

#[test]
fn system_messages_keep_their_role_where_the_model_knows_it() {
    let request = of(vec![
        Message::user("hi"),
        Message::new(Role::System, vec![Block::text("Be brief.")]),
        Message::user("again"),
    ]);
    let newest = json!([
        { "role": "user", "content": [text("hi")] },
        { "role": "system", "content": [text("Be brief.")] },
        { "role": "user", "content": [text("again")] },
    ]);
    check(&request, &Profile::NEWEST, newest, &[]);
    let older =
        json!([{ "role": "user", "content": [text("hi"), text("Be brief."), text("again")] }]);
    let profile = Profile::of("claude-opus-4-7");
    check(
        &request,
        &profile,
        older,
        &["system_message_as_user", "messages_merged"],
    );
}

#[test]
fn malformed_arguments_are_wrapped_and_never_become_empty() {
    let request = of(vec![
        Message::user("hi"),
        Message::new(Role::Assistant, vec![call("call_a", None, "{\"tz\": ")]),
        Message::new(
            Role::Tool,
            vec![outcome(
                "call_a",
                ToolResult::error("the arguments are no JSON"),
            )],
        ),
    ]);
    let messages = json!([
        { "role": "user", "content": [text("hi")] },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "call_a", "name": "clock", "input": { "_raw": "{\"tz\": " } }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "call_a", "content": "the arguments are no JSON", "is_error": true }] },
    ]);
    check(
        &request,
        &Profile::NEWEST,
        messages,
        &["malformed_arguments"],
    );
}

#[test]
fn a_result_that_is_structured_alone_is_sent_as_its_json() {
    let structured = ToolResult {
        content: Vec::new(),
        is_error: false,
        structured: Some(Arc::new(json!({ "c": 15 }))),
    };
    let request = of(vec![
        Message::user("hi"),
        Message::new(Role::Assistant, vec![call("call_a", None, "{}")]),
        Message::new(Role::Tool, vec![outcome("call_a", structured)]),
    ]);
    let messages = json!([
        { "role": "user", "content": [text("hi")] },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "call_a", "name": "clock", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "call_a", "content": "{\"c\":15}" }] },
    ]);
    check(
        &request,
        &Profile::NEWEST,
        messages,
        &["structured_as_text"],
    );
}

#[test]
fn one_id_for_two_calls_is_told_apart() {
    // The first is known to us by the very id that the second has upstream.
    let request = of(vec![
        Message::user("hi"),
        Message::new(
            Role::Assistant,
            vec![
                call("call_0", None, "{}"),
                call("call_x", Some("call_0"), "{}"),
                call("call_y", Some("call_0"), "{}"),
            ],
        ),
        Message::new(
            Role::Tool,
            ["call_0", "call_x", "call_y"]
                .map(|id| outcome(id, ToolResult::text(id)))
                .to_vec(),
        ),
    ]);
    let (body, _) =
        request::to_wire(&request, &owner(), &Profile::NEWEST, true).expect("it can be said");
    let body = serde_json::to_value(&body).expect("JSON");
    let ids: Vec<&str> = (0..3)
        .filter_map(|n| body["messages"][1]["content"][n]["id"].as_str())
        .collect();
    assert_eq!(ids, ["call_0", "call_x", "call_y"]);
    let answered: Vec<&str> = (0..3)
        .filter_map(|n| body["messages"][2]["content"][n]["tool_use_id"].as_str())
        .collect();
    assert_eq!(answered, ids);
}

#[test]
fn what_a_user_says_and_claude_does_not_take_is_refused() {
    let audio = Content::Audio(Audio {
        source: MediaSource::Url("https://files.example/a.wav".into()),
        transcript: Some("hello".into()),
    });
    let tiff = Content::Image(Image {
        detail: None,
        source: MediaSource::Base64 {
            media_type: "image/tiff".into(),
            data: "AAAA".into(),
        },
    });
    for content in [audio, tiff] {
        let request = of(vec![Message::new(
            Role::User,
            vec![Block::text("look"), content.into()],
        )]);
        let refused =
            request::to_wire(&request, &owner(), &Profile::NEWEST, true).expect_err("refused");
        assert_eq!(refused.path, "messages[0].blocks[1]");
    }
}

#[test]
fn older_models_and_other_vendors_continue_words_of_their_own() {
    let request = of(vec![
        Message::user("count"),
        Message::new(Role::Assistant, vec![Block::text("1, 2, ")]),
    ]);
    let refused =
        request::to_wire(&request, &owner(), &Profile::NEWEST, true).expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "this model does not continue words of its own; end with a message of the user (messages[1])"
    );
    let messages = json!([
        { "role": "user", "content": [text("count")] },
        { "role": "assistant", "content": [text("1, 2,")] },
    ]);
    // Of a model that is not Claude's, its server decides.
    for model in ["claude-sonnet-4-5", "qwen3"] {
        let profile = Profile::of(model);
        check(&request, &profile, messages.clone(), &["prefill_trimmed"]);
    }
}

#[test]
fn a_paused_reply_goes_back_as_it_is() {
    let mut search = Block::from(Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse("call_s").expect("an id"),
        input: ToolInput::Json(JsonInput::parse("{\"query\":\"rust\"}")),
        name: jackfield_domain::block::CalledName::new("web_search"),
        ran_by: RanBy::Provider,
        upstream: None,
    })));
    let fields = json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "caller": { "type": "direct" } });
    search.opaque = vec![own_state("provider_call", fields)];
    let request = of(vec![
        Message::user("search"),
        Message::new(
            Role::Assistant,
            vec![Block::text("Searching."), search.clone()],
        ),
    ]);
    let messages = json!([
        { "role": "user", "content": [text("search")] },
        { "role": "assistant", "content": [
            text("Searching."),
            { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "caller": { "type": "direct" }, "input": { "query": "rust" } },
        ] },
    ]);
    check(&request, &Profile::NEWEST, messages, &[]);
    // Another model gets none of it, and the words that are left would be continued.
    let mut other = owner();
    other.model = "model-b".into();
    let refused = request::to_wire(&request, &other, &Profile::NEWEST, true).expect_err("refused");
    assert_eq!(refused.path, "messages[1]");
    // Anywhere else its result is missing, and it is never sent without.
    let request = of(vec![
        Message::user("search"),
        Message::new(Role::Assistant, vec![Block::text("Searching."), search]),
        Message::user("go on"),
    ]);
    let messages = json!([
        { "role": "user", "content": [text("search")] },
        { "role": "assistant", "content": [text("Searching.")] },
        { "role": "user", "content": [text("go on")] },
    ]);
    check(
        &request,
        &Profile::NEWEST,
        messages,
        &["provider_call_withheld"],
    );
}

#[test]
fn extensions_never_override_and_never_make_the_provider_act() {
    let extension = |path: &str, json: Value| Extension {
        dialect: "claude".into(),
        path: path.to_owned(),
        json,
    };
    let mut request = request();
    request.settings = Arc::new(Settings {
        max_output_tokens: Some(100),
        extensions: vec![
            extension("/speed", json!("fast")),
            extension("/metadata/tag~1x", json!(1)),
            extension("/max_tokens", json!(1)),
            extension("/model", json!("other")),
            extension("/output_config/effort", json!("low")),
            extension("/container", json!("c")),
            extension("/mcp_servers/0", json!({})),
            extension("speed", json!("fast")),
            Extension {
                dialect: "openai-chat".into(),
                ..extension("/logprobs", json!(true))
            },
        ],
        ..Settings::default()
    });
    let (body, notes) =
        request::to_wire(&request, &owner(), &Profile::NEWEST, false).expect("it can be said");
    let body = serde_json::to_value(&body).expect("JSON");
    assert_eq!(body["speed"], json!("fast"));
    assert_eq!(body["metadata"], json!({ "tag/x": 1 }));
    assert_eq!(
        (&body["max_tokens"], &body["model"]),
        (&json!(100), &json!("model-a"))
    );
    assert_eq!(
        (body.get("stream"), body.get("output_config")),
        (None, None)
    );
    let told: Vec<&str> = notes.iter().map(|note| &*note.code).collect();
    let expected = [
        "extension_path",
        "extension_path",
        "extension_path",
        "provider_would_act",
        "provider_would_act",
        "extension_path",
        "extension_of_another_dialect",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_client_is_refused_what_would_make_the_provider_act() {
    let body = json!({
        "model": "claude-opus-5-5",
        "max_tokens": 10,
        "mcp_servers": [{ "type": "url", "url": "https://mcp.example" }],
        "tools": [{ "type": "mcp_toolset", "mcp_server_name": "mcp" }, { "name": "clock", "input_schema": { "type": "object" } }],
        "messages": [{ "role": "user", "content": "hi" }],
    });
    let body = request::parse(body.to_string().as_bytes()).expect("a body");
    let incoming = request::from_wire(body, &owner()).expect("it can be read");
    assert_eq!(incoming.tools.len(), 1);
    let told: Vec<(&str, &str)> = incoming
        .notes
        .iter()
        .map(|note| (&*note.code, &*note.path))
        .collect();
    assert_eq!(
        told,
        [
            ("vendor_tool", "tools.0"),
            ("provider_would_act", "mcp_servers")
        ]
    );
}

#[test]
fn call_ids_of_a_client_are_ours_or_stand_beside_one_of_ours() {
    let round = |id: &str| {
        [
            json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": "clock", "input": {} }] }),
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": "12:00" }] }),
        ]
    };
    let mut messages = vec![json!({ "role": "user", "content": "hi" })];
    for id in ["call_1", "call_1", "functions.clock:0"] {
        messages.extend(round(id));
    }
    let body = json!({ "model": "m", "max_tokens": 1, "messages": messages });
    let read = || {
        let body = request::parse(body.to_string().as_bytes()).expect("a body");
        request::from_wire(body, &owner())
            .expect("it can be read")
            .messages
    };
    let messages: Vec<Arc<Message>> = read().into_iter().map(Arc::new).collect();
    assert_eq!(
        jackfield_domain::rules::check_request(messages.iter()),
        Ok(())
    );
    let calls: Vec<_> = messages
        .iter()
        .flat_map(|message| message.calls().cloned())
        .collect();
    assert_eq!(calls[0].id.as_str(), "call_1");
    assert_eq!(calls[0].upstream, None);
    for (call, known) in calls[1..].iter().zip(["call_1", "functions.clock:0"]) {
        assert!(call.id.as_str().starts_with("call_") && call.id != calls[0].id);
        assert_eq!(
            call.upstream.as_ref().map(|upstream| &*upstream.id),
            Some(known)
        );
    }
    let again: Vec<Arc<Message>> = read().into_iter().map(Arc::new).collect();
    assert_eq!(again, messages, "the same body gives the same ids");
}
