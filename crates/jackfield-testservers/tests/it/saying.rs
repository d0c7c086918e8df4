//! What the server says is what the script says, in the vendor's words.

#![expect(clippy::unwrap_used, reason = "a broken answer fails the test")]

use jackfield_dialect_claude::stream::DecodeReply as _;
use jackfield_dialect_claude::{stream, wire};
use jackfield_domain::delta::Delta;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::usage::Usage;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptPart, ScriptTurn, json as file};
use serde_json::{Value, json};

use crate::http::{Response, post, question};

async fn ask(server: &ScriptedClaude, text: &str) -> Response {
    post(
        &server.base_url(),
        "/v1/messages",
        &question(text).to_string(),
    )
    .await
}

fn text(response: &Response) -> String {
    let blocks = response.json()["content"].clone();
    blocks[0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn replies_come_in_the_order_of_the_script() {
    let server = ScriptedClaude::start([ScriptTurn::text("one"), ScriptTurn::text("two")]).await;
    assert_eq!(server.unused(), 2);
    assert_eq!(text(&ask(&server, "a").await), "one");
    assert_eq!(text(&ask(&server, "b").await), "two");
    assert_eq!(server.unused(), 0);
    assert_eq!(server.requests(), [question("a"), question("b")]);
}

#[tokio::test]
async fn a_turn_may_be_for_some_requests_only_and_come_again() {
    let server = ScriptedClaude::start([
        ScriptTurn::text("bees").when("bee").again(),
        ScriptTurn::text("anything"),
    ])
    .await;
    for (asked, said) in [
        ("a bee", "bees"),
        ("a cat", "anything"),
        ("two bees", "bees"),
    ] {
        assert_eq!(text(&ask(&server, asked).await), said);
    }
}

#[tokio::test]
async fn a_closure_may_choose_by_the_request() {
    let server = ScriptedClaude::start(Script::by(|asked| {
        Some(ScriptTurn::text(format!(
            "{}: {}",
            asked.nth, asked.last_text
        )))
    }))
    .await;
    assert_eq!(text(&ask(&server, "a").await), "0: a");
    assert_eq!(text(&ask(&server, "b").await), "1: b");
}

#[tokio::test]
async fn a_request_without_a_turn_left_is_a_violation() {
    let server = ScriptedClaude::start([ScriptTurn::text("one")]).await;
    ask(&server, "a").await;
    let refused = ask(&server, "b").await;
    assert_eq!(refused.status, 500);
    assert_eq!(
        server.violations(),
        ["request 1: the script has nothing to say to this"]
    );
}

/// A reply with everything in it, told whole and as events, and read by the dialect.
#[tokio::test]
async fn streamed_and_whole_replies_read_the_same() {
    let turn = ScriptTurn::reply([
        ScriptPart::Thinking {
            signature: "c2ln".to_owned(),
            text: "Let me think about 东京.".to_owned(),
        },
        ScriptPart::Text("First I need the weather, сейчас узнаю.".to_owned()),
    ])
    .and_call(
        "get_weather",
        &json!({ "location": "Paris", "days": [1, 2] }),
    )
    .and_call("get_time", &json!({}))
    .using(Usage {
        cache_read: 5,
        cache_write: 7,
        input: 40,
        output: 9,
        reasoning: 0,
        ..Usage::default()
    });
    let server = ScriptedClaude::start(Script::by(move |_| Some(turn.clone()))).await;
    let mut body = question("weather?");
    let whole = post(&server.base_url(), "/v1/messages", &body.to_string()).await;
    body["stream"] = json!(true);
    let events = post(&server.base_url(), "/v1/messages", &body.to_string()).await;
    // The calls of the second reply have ids of their own.
    let whole_ids = whole.body.replace("scripted_0", "scripted_1");
    let message: wire::Message = serde_json::from_str(&whole_ids).unwrap();
    let (whole, whole_end) = stream::Decoder::new(owner())
        .decode_message(&message)
        .unwrap();
    let (streamed, streamed_end) = read(&events.body);
    assert_eq!(whole_end, streamed_end);
    assert_eq!(whole_end.finish, FinishReason::ToolCalls);
    assert_eq!(whole_end.usage.unwrap().input, 40);
    assert_eq!(joined(whole), joined(streamed));
}

#[tokio::test]
async fn finish_reasons_are_said_as_the_vendor_says_them() {
    for (finish, said) in [
        (FinishReason::Length, "max_tokens"),
        (FinishReason::ContextFull, "model_context_window_exceeded"),
        (FinishReason::Paused, "pause_turn"),
        (FinishReason::Refused, "refusal"),
        (FinishReason::Unrecognized("tired".into()), "tired"),
    ] {
        let server = ScriptedClaude::start([ScriptTurn::text("x").finish(finish)]).await;
        assert_eq!(ask(&server, "a").await.json()["stop_reason"], said);
    }
}

#[tokio::test]
async fn a_script_may_be_a_file() {
    let script = json!({ "replies": [
        { "text": "Let me see.", "calls": [{ "name": "add", "arguments": { "a": 1 }, "id": "toolu_7" }] },
        { "text": "3", "usage": { "input": 4, "output": 2 }, "finish": "length" },
        { "status": 529, "headers": { "retry-after": "1" }, "body": { "type": "error" } },
    ]});
    let server = ScriptedClaude::start(file::parse(&script.to_string()).unwrap()).await;
    let first = ask(&server, "a").await.json();
    assert_eq!(
        first["content"],
        json!([
            { "type": "text", "text": "Let me see.", "citations": null },
            {
                "type": "tool_use",
                "id": "toolu_7",
                "name": "add",
                "input": { "a": 1 },
                "caller": { "type": "direct" },
            },
        ])
    );
    let second = ask(&server, "b").await.json();
    assert_eq!(second["stop_reason"], "max_tokens");
    assert_eq!(second["usage"]["output_tokens"], 2);
    let third = ask(&server, "c").await;
    assert_eq!(third.status, 529);
    assert!(third.head.contains("retry-after: 1"), "{}", third.head);
    assert_eq!(third.json(), json!({ "type": "error" }));
}

#[test]
fn a_script_with_an_unknown_field_is_refused() {
    let fault = file::parse(r#"{"replies": [{"txt": "x"}]}"#).unwrap_err();
    assert!(fault.to_string().contains("txt"), "{fault}");
}

fn owner() -> StateOwner {
    StateOwner {
        dialect: "claude".into(),
        endpoint: "http://scripted".into(),
        model: "claude-opus-5-5".into(),
    }
}

fn read(events: &str) -> (Vec<Delta>, ReplyEnd) {
    let mut decoder = stream::Decoder::new(owner());
    let mut deltas = Vec::new();
    for event in events.split("\n\n").filter(|event| !event.is_empty()) {
        let (name, data) = event.split_once('\n').unwrap();
        let data = data.strip_prefix("data: ").unwrap();
        let json: Value = serde_json::from_str(data).unwrap();
        assert_eq!(name.strip_prefix("event: "), json["type"].as_str());
        deltas.extend(decoder.push(name.strip_prefix("event: "), data).unwrap());
    }
    (deltas, decoder.finish().unwrap())
}

/// The pieces with neighbours of one kind put together.
fn joined(deltas: Vec<Delta>) -> Vec<Delta> {
    let mut out: Vec<Delta> = Vec::new();
    for delta in deltas {
        match (out.last_mut(), &delta) {
            (
                Some(Delta::TextAppended { index, text }),
                Delta::TextAppended {
                    index: same,
                    text: more,
                },
            )
            | (
                Some(Delta::ArgumentsAppended { index, text }),
                Delta::ArgumentsAppended {
                    index: same,
                    text: more,
                },
            ) if index == same => *text = format!("{text}{more}").into(),
            _ => out.push(delta),
        }
    }
    out.retain(|delta| !matches!(delta, Delta::ArgumentsAppended { text, .. } if text.is_empty()));
    out
}
