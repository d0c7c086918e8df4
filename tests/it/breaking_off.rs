//! Bad input: streams that stop in the middle.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{jackfield, kept};

#[tokio::test]
async fn a_stream_that_stops_in_the_middle_keeps_what_was_said_and_is_an_error() {
    for reset in [false, true] {
        let turn = ScriptTurn::text(long_answer());
        let turn = if reset {
            turn.reset_after(MIDDLE)
        } else {
            turn.cut_after(MIDDLE)
        };
        let claude = ScriptedClaude::start([turn]).await;
        let ran = jackfield(["ask", "tell me"])
            .at(&claude.base_url())
            .run()
            .await;
        ran.fails(
            6,
            "the answer broke off: ",
            "ask again; what came before the break is not whole",
        );
        // What was sent before a reset may get lost, as in the world.
        let said = ran.out.trim_end();
        assert!(long_answer().starts_with(said), "{said}");
        assert!(reset || said.contains("line 1\n"), "{said}");
        // It was shown, and cannot be taken back.
        assert_eq!(claude.requests().len(), 1);
        kept(&claude);
    }
}

#[tokio::test]
async fn a_stream_that_stops_is_said_anew_where_it_can_be_taken_back() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text(long_answer()).cut_after(MIDDLE),
        ScriptTurn::text("Once more, and whole."),
    ])
    .await;
    let ran = jackfield(["ask", "--json", "tell me"])
        .at(&claude.base_url())
        .run()
        .await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(claude.requests().len(), 2);
    let text = |attempt: u64| -> String {
        let texts = ran
            .events()
            .into_iter()
            .filter(|event| event["event"] == "text");
        let texts = texts.filter(|event| event["attempt"] == attempt);
        texts
            .filter_map(|event| Some(event["text"].as_str()?.to_owned()))
            .collect()
    };
    assert!(text(1).starts_with("line 0\n"), "{}", text(1));
    assert_eq!(text(2), "Once more, and whole.");
    assert_eq!(ran.last_event()["answer"], "Once more, and whole.");
    kept(&claude);
}

#[tokio::test]
async fn a_stream_that_stops_before_it_says_anything_is_tried_again() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello!").cut_after(0),
        ScriptTurn::text("Hello again!"),
    ])
    .await;
    let ran = jackfield(["ask", "hello"])
        .at(&claude.base_url())
        .run()
        .await;
    ran.answers("Hello again!\n");
    ran.says("; retrying in ");
    assert_eq!(claude.requests().len(), 2);
    kept(&claude);
}

#[tokio::test]
async fn a_call_that_was_cut_in_its_arguments_is_never_run() {
    let expression = "1+".repeat(2_000) + "1";
    let call = ScriptTurn::text("Let me see.")
        .and_call("calculator", &json!({ "expression": expression }))
        .cut_after(10_000);
    let claude = ScriptedClaude::start([call]).await;
    let more = "limits.model_retries = 0";
    let ran = jackfield(["ask", "--json", "sum"])
        .at_with(&claude.base_url(), more)
        .run()
        .await;
    ran.fails(6, "the answer broke off: ", "ask again");
    let last = ran.last_event();
    assert_eq!(last["end"]["kind"], "interrupted");
    assert_eq!(last["answer"], "Let me see.");
    let ran_tools = |event: &Value| event["event"] == "tool_started";
    assert!(!ran.events().iter().any(ran_tools), "{}", ran.out);
    kept(&claude);
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_told_in_the_servers_words() {
    let body = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\
        \"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[],\
        \"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
        \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"So far.\"}}\n\n\
        event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\
        \"message\":\"Overloaded\"}}\n\n";
    let response = jackfield_testkit::server::Response::event_stream(body);
    let claude = ScriptedClaude::start([ScriptTurn::wire(response)]).await;
    let ran = jackfield(["ask", "hello"])
        .at(&claude.base_url())
        .run()
        .await;
    ran.fails(6, "Overloaded", "wait a little and ask again");
    assert_eq!(ran.out, "So far.\n");
    kept(&claude);
}

fn long_answer() -> String {
    (0..200).map(|n| format!("line {n}\n")).collect()
}

/// In bytes of a response, somewhere among the lines of its answer.
const MIDDLE: usize = 8_000;
