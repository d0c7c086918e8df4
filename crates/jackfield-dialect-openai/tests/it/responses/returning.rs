//! What goes back to its owner, and how.

use std::sync::Arc;

use jackfield_dialect_kit::serve::ServeDialect as _;
use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::responses::request;
use jackfield_dialect_openai::responses::serve::{Responses, response_of_item};
use jackfield_dialect_rules::openai;
use jackfield_domain::block::{
    Block, CalledName, Content, OpaqueBlock, RanBy, Thinking, ToolCall, UpstreamId,
};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{ResponseFormat, Settings};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_testkit::arb as kit;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::arb::{own_state, part, reasoning};
use super::{about, owner};

fn of(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: messages.into_iter().collect(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "openai".into(),
        },
        turn: None,
        settings: Arc::default(),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

/// What is sent to the vendor of these blocks, a call with its outcome behind them, and the notes.
fn sent(mut blocks: Vec<Block>) -> (Vec<Value>, Vec<String>) {
    blocks.push(call(
        json!({ "id": "fc_1", "status": "completed", "namespace": "clocks" }),
    ));
    let messages = vec![
        Message::user("What time is it?"),
        Message::new(Role::Assistant, blocks),
        Message::new(Role::Tool, vec![outcome()]),
    ];
    let profile = Profile::OPENAI;
    let (body, notes) = request::to_wire(&of(messages), &owner(), &profile, true).expect("a body");
    let body = serde_json::to_value(&body).expect("JSON");
    assert_eq!(openai::responses::check(&body, &profile), []);
    let items = body["input"].as_array().expect("items");
    let notes = notes
        .iter()
        .map(|note| format!("{} {}", note.code, note.path));
    // Without the question and the outcome.
    (items[1..items.len() - 1].to_vec(), notes.collect())
}

fn call(state: Value) -> Block {
    let mut call = Block::from(Content::ToolCall(Arc::new(ToolCall {
        id: ToolCallId::parse("call_a").expect("an id"),
        input: ToolInput::Json(JsonInput::parse("{}")),
        name: CalledName::new("clock"),
        ran_by: RanBy::Engine,
        upstream: None,
    })));
    call.opaque = vec![own_state("call_item", state)];
    call
}

fn outcome() -> Block {
    let outcome = ToolOutcome {
        call: ToolCallId::parse("call_a").expect("an id"),
        opaque: Vec::new(),
        result: ToolResult {
            content: vec![OutcomePart::Text("noon".into())],
            is_error: false,
            structured: None,
        },
    };
    Content::ToolOutcome(Arc::new(outcome)).into()
}

fn thought(state: Value) -> Block {
    let mut block = Block::from(Content::Thinking(Thinking {
        redacted: false,
        text: "Hm".into(),
    }));
    block.opaque = vec![own_state("reasoning_item", state)];
    block
}

fn words(state: Value) -> Block {
    let mut block = Block::text("One moment.");
    block.opaque = vec![own_state("message_item", state)];
    block
}

fn search() -> Block {
    let opaque = OpaqueBlock {
        fallback: None,
        json: json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" }),
        kind: "web_search_call".into(),
        owner: owner(),
    };
    Content::Opaque(opaque).into()
}

#[test]
fn a_reply_goes_back_as_it_came() {
    let thinking = thought(reasoning(1, "Hm", Some("ZQ==")));
    let (items, notes) = sent(vec![thinking, search(), words(part("msg_1", 0))]);
    assert_eq!(
        items,
        [
            reasoning(1, "Hm", Some("ZQ==")),
            json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" }),
            json!({
                "type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                "phase": "commentary",
                "content": [{ "type": "output_text", "text": "One moment.", "annotations": [] }],
            }),
            json!({
                "type": "function_call", "call_id": "call_a", "name": "clock", "arguments": "{}",
                "id": "fc_1", "status": "completed", "namespace": "clocks",
            }),
        ]
    );
    assert_eq!(notes, [""; 0]);
}

#[test]
fn a_client_that_keeps_its_conversation_brings_back_what_its_provider_calls_a_call() {
    let ours = ToolCallId::parse("call_a").expect("an id");
    let made = |dialect: &str| {
        let call = Block::from(Content::ToolCall(Arc::new(ToolCall {
            id: ours.clone(),
            input: ToolInput::Json(JsonInput::parse("{}")),
            name: CalledName::new("clock"),
            ran_by: RanBy::Client,
            upstream: Some(UpstreamId {
                id: "call_of-theirs".into(),
                owner: StateOwner {
                    dialect: dialect.into(),
                    ..owner()
                },
            }),
        })));
        let blocks = vec![thought(reasoning(1, "Hm", Some("ZQ=="))), call];
        Reply {
            end: ReplyEnd::new(FinishReason::ToolCalls),
            message: Arc::new(Message::new(Role::Assistant, blocks)),
        }
    };
    let whole = |reply: &Reply| {
        let (body, _) = Responses.reply(reply, &about());
        serde_json::from_slice::<Value>(&body).expect("JSON")["output"].clone()
    };
    let streamed = |reply: &Reply| {
        let mut encoder = Responses.encoder(&about());
        let mut runner = TestRunner::deterministic();
        let pieces = kit::deltas_of(&reply.message.blocks);
        let pieces = pieces.new_tree(&mut runner).expect("pieces").current();
        for piece in &pieces {
            let begins = matches!(
                piece,
                Delta::BlockStarted {
                    start: BlockStart::ToolCall { .. },
                    ..
                }
            );
            encoder.push(piece, begins.then_some(&ours));
        }
        let events = encoder.finish(&reply.end);
        let last: Value = serde_json::from_str(&events.last().expect("an end").data).expect("JSON");
        last["response"]["output"].clone()
    };
    // Another dialect's id is of no use here, and is not told.
    let item = &whole(&made("another"))[1];
    assert_eq!(item["id"], json!(format!("fc_{}_1", about().id)));
    let reply = made(&owner().dialect);
    assert_eq!(streamed(&reply), whole(&reply));
    let mut input = vec![json!({ "role": "user", "content": "What time is it?" })];
    input.extend(whole(&reply).as_array().expect("items").iter().cloned());
    assert_eq!(input[2]["call_id"], "call_a");
    let told = input[2]["id"].as_str().expect("an id");
    assert_eq!(response_of_item(told), Some(&*about().id));
    let output = json!({ "type": "function_call_output", "call_id": "call_a", "output": "noon" });
    input.push(output);
    let body = json!({ "model": "m", "store": false, "input": input }).to_string();
    let asked = Responses.request(&|_| None, body.as_bytes(), &|_| owner());
    let asked = asked.expect("a request");
    let profile = Profile::OPENAI;
    let (body, _) =
        request::to_wire(&of(asked.messages), &owner(), &profile, true).expect("a body");
    let body = serde_json::to_value(&body).expect("JSON");
    assert_eq!(body["input"][1], reasoning(1, "Hm", Some("ZQ==")));
    for item in [&body["input"][2], &body["input"][3]] {
        assert_eq!(item["call_id"], "call_of-theirs", "{item}");
    }
    assert_eq!(
        body["input"][2]["id"],
        json!(format!("fc_{}_1", about().id))
    );
}

#[test]
fn without_its_reasoning_a_reply_keeps_what_it_means_and_not_its_ids() {
    // The reply broke off, or the server never gave what can be sent back.
    for state in [json!({ "id": "rs_1" }), reasoning(1, "Hm", None)] {
        let (items, notes) = sent(vec![thought(state), search(), words(part("msg_1", 0))]);
        assert_eq!(
            items,
            [
                json!({
                    "type": "message", "role": "assistant", "phase": "commentary",
                    "content": "One moment.",
                }),
                json!({
                    "type": "function_call", "call_id": "call_a", "name": "clock",
                    "arguments": "{}", "namespace": "clocks",
                }),
            ]
        );
        assert_eq!(
            notes,
            [
                "thinking_withheld messages[1].blocks[0]",
                "opaque_withheld messages[1].blocks[1]",
                "item_id_not_sent messages[1].blocks[2].opaque[0]",
                "item_id_not_sent messages[1].blocks[3].opaque[0]",
            ]
        );
    }
}

#[test]
fn words_without_an_id_go_as_words() {
    let (items, notes) = sent(vec![words(
        json!({ "item": { "phase": "final_answer" }, "part": 0 }),
    )]);
    assert_eq!(
        items[0],
        json!({
            "type": "message", "role": "assistant", "phase": "final_answer",
            "content": "One moment.",
        })
    );
    assert_eq!(notes, [""; 0]);
}

#[test]
fn what_a_client_sends_without_ids_keeps_the_rules() {
    let said = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
    let body = json!({ "model": "m", "input": [
        { "role": "user", "content": "Hello" },
        { "type": "message", "role": "assistant", "content": [said("One."), said("Two.")] },
        { "type": "message", "role": "assistant", "phase": "commentary", "content": [said("Three.")] },
    ] });
    let body = request::parse(body.to_string().as_bytes()).expect("a body");
    let incoming = request::from_wire(body, &owner()).expect("it can be read");
    let request = of(incoming.messages);
    let (body, notes) =
        request::to_wire(&request, &owner(), &Profile::OPENAI, true).expect("a body");
    let body = serde_json::to_value(&body).expect("JSON");
    assert_eq!(openai::responses::check(&body, &Profile::OPENAI), []);
    let words = |text: &str| json!({ "type": "message", "role": "assistant", "content": text });
    assert_eq!(body["input"][1], words("One."));
    assert_eq!(body["input"][2], words("Two."));
    assert_eq!(body["input"][3]["phase"], "commentary");
    assert_eq!(notes, []);
}

#[test]
fn what_says_nothing_is_not_sent_back() {
    let mut item = reasoning(1, "Hm", Some("ZQ=="));
    item["content"] = Value::Null;
    item["status"] = Value::Null;
    let message =
        json!({ "item": { "id": "msg_1", "status": "completed", "phase": null }, "part": 0 });
    let (items, _) = sent(vec![thought(item), words(message)]);
    assert_eq!(items[0], reasoning(1, "Hm", Some("ZQ==")));
    assert_eq!(items[1].get("phase"), None);
}

#[test]
fn a_limit_below_the_vendors_least_is_raised_to_it() {
    for (profile, most, expected, codes) in [
        (Profile::OPENAI, 5, 16, &["limit_raised"][..]),
        (Profile::OPENAI_WITHOUT_REASONING, 15, 16, &["limit_raised"]),
        (Profile::OPENAI, 16, 16, &[]),
        (Profile::LLAMA_CPP, 5, 5, &[]),
        (Profile::LLAMA_CPP, 0, 1, &["limit_raised"]),
    ] {
        let settings = Settings {
            max_output_tokens: Some(most),
            ..Settings::default()
        };
        let request = ModelRequest {
            settings: Arc::new(settings),
            ..of(vec![Message::user("Hello")])
        };
        let (body, notes) = request::to_wire(&request, &owner(), &profile, true).expect("a body");
        assert_eq!(body.max_output_tokens, Some(expected));
        let told: Vec<&str> = notes.iter().map(|note| &*note.code).collect();
        assert_eq!(told, codes);
    }
}

#[test]
fn an_answer_that_is_to_be_any_json_is_asked_for_where_the_vendor_looks() {
    let settings = Settings {
        response_format: ResponseFormat::JsonObject,
        ..Settings::default()
    };
    let ask = "Answer with a JSON object.";
    for (profile, system, said, instructions, first, noted) in [
        // In the instructions alone the vendor does not see it.
        (
            Profile::OPENAI,
            "JSON only.",
            "go",
            json!("JSON only."),
            ask,
            1,
        ),
        (Profile::OPENAI, "", "go", Value::Null, ask, 1),
        (Profile::OPENAI, "", "as json", Value::Null, "as json", 0),
        (
            Profile::COMPATIBLE,
            "JSON only.",
            "go",
            json!("JSON only."),
            "go",
            0,
        ),
        (
            Profile::COMPATIBLE,
            "Hi.",
            "go",
            json!(format!("Hi.\n\n{ask}")),
            "go",
            1,
        ),
        (Profile::COMPATIBLE, "", "go", json!(ask), "go", 1),
    ] {
        let part = SystemPart {
            origin: PartOrigin::Flag,
            text: system.into(),
        };
        let parts = (!system.is_empty()).then_some(part).into_iter().collect();
        let request = ModelRequest {
            settings: Arc::new(settings.clone()),
            system: Arc::new(SystemPrompt { parts }),
            ..of(vec![Message::user(said)])
        };
        let (body, notes) = request::to_wire(&request, &owner(), &profile, true).expect("a body");
        let body = serde_json::to_value(&body).expect("JSON");
        assert_eq!(openai::responses::check(&body, &profile), []);
        assert_eq!(
            body.get("instructions").unwrap_or(&Value::Null),
            &instructions
        );
        assert_eq!(body["input"][0]["content"], first);
        assert_eq!(notes.len(), noted, "{notes:?}");
    }
}
