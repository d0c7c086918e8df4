//! Replies by example: how they end, what of them becomes history, and what the next turn stands on.

use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::limits::Limits;
use jackfield_domain::message::Message;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::rules;
use jackfield_domain::setup::{Opening, Setup};

use crate::scene::{Part, call, calls, check, finishes, reply, says, text};
use crate::world::setup;

fn plain() -> Setup {
    setup(Limits::default())
}

#[test]
fn an_answer_ends_the_turn() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![(says("hello"), &["end Answered(Stop)"])],
    );
    assert_eq!(scene.transcript(), ["User: go", "Assistant: hello"]);
}

#[test]
fn text_before_a_call_stays_in_its_place() {
    let parts = vec![
        Part::Thinking("hm"),
        text("Let me see."),
        call("read", "{}"),
        text("And then."),
        call("write", "{}"),
    ];
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (
                reply(parts, FinishReason::ToolCalls),
                &["run read", "run write"],
            ),
            (finishes("read", "a"), &["read Ran: a"]),
            (finishes("write", "b"), &["write Ran: b", "model 2.1"]),
        ],
    );
    let expected = [
        "User: go",
        "Assistant: (hm)",
        "Assistant: Let me see.",
        "Assistant: call read",
        "Assistant: And then.",
        "Assistant: call write",
        "Tool: outcome a",
        "Tool: outcome b",
    ];
    assert_eq!(scene.transcript(), expected);
}

#[test]
fn calls_of_a_reply_that_was_cut_off_are_never_run() {
    for finish in [FinishReason::Length, FinishReason::ContextFull] {
        check(
            plain(),
            &["model 1.1"],
            vec![(
                reply(vec![call("write", "{}")], finish),
                &[
                    "write NotRun error: The call was not run: the reply that holds it was cut \
                     off by the token limit. Send it again, shorter.",
                    "model 2.1",
                ],
            )],
        );
    }
}

#[test]
fn calls_of_a_reply_that_was_refused_are_never_run_and_the_turn_ends() {
    for (finish, end) in [
        (FinishReason::Refused, "end Answered(Refused)"),
        (FinishReason::ContentFilter, "end Answered(ContentFilter)"),
    ] {
        check(
            plain(),
            &["model 1.1"],
            vec![(
                reply(vec![call("write", "{}"), call("read", "{}")], finish),
                &[
                    "write NotRun error: The call was not run: the reply that holds it was \
                     refused or filtered.",
                    "read NotRun error: The call was not run: the reply that holds it was \
                     refused or filtered.",
                    end,
                ],
            )],
        );
    }
}

#[test]
fn a_call_is_run_whatever_reason_the_reply_ended_for() {
    for finish in [
        FinishReason::Stop,
        FinishReason::StopSequence("x".into()),
        FinishReason::Unrecognized("tool_use".into()),
    ] {
        let rows = vec![(reply(vec![call("write", "{}")], finish), &["run write"][..])];
        check(plain(), &["model 1.1"], rows);
    }
}

#[test]
fn a_call_that_the_provider_ran_is_not_run_again() {
    let at_provider = Part::Call {
        arguments: "{}",
        json: true,
        name: "search",
        ran_by: RanBy::Provider,
    };
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![(
            reply(vec![at_provider, text("found")], FinishReason::Stop),
            &["end Answered(Stop)"],
        )],
    );
    let expected = ["User: go", "Assistant: call search", "Assistant: found"];
    assert_eq!(scene.transcript(), expected);
}

#[test]
fn a_paused_reply_goes_back_as_it_is() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (
                reply(vec![text("searching")], FinishReason::Paused),
                &["model 2.1"],
            ),
            (says("found"), &["end Answered(Stop)"]),
        ],
    );
    let expected = ["User: go", "Assistant: searching", "Assistant: found"];
    assert_eq!(scene.transcript(), expected);
}

#[test]
fn an_empty_reply_ends_the_turn_and_leaves_no_empty_message() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![(
            reply(vec![text(" \n")], FinishReason::Stop),
            &["end Answered(Stop)"],
        )],
    );
    assert_eq!(scene.transcript(), ["User: go"]);
}

#[test]
fn a_blank_block_before_a_call_is_left_out() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (
                reply(vec![text("\n\n"), call("read", "{}")], FinishReason::Stop),
                &["run read"],
            ),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
        ],
    );
    let expected = ["User: go", "Assistant: call read", "Tool: outcome a"];
    assert_eq!(scene.transcript(), expected);
}

#[test]
fn the_next_turn_of_a_session_stands_on_the_one_before() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (says("first"), &["end Answered(Stop)"]),
        ],
    );
    let again = Opening::UserMessage(Arc::new(Message::user("again")));
    let (mut scene, lines) = scene.next_turn(again, plain());
    assert_eq!(lines, ["model 1.1"]);
    scene.go_on(vec![(says("second"), &["end Answered(Stop)"])]);
    let expected = [
        "User: go",
        "Assistant: call read",
        "Tool: outcome a",
        "Assistant: first",
        "User: again",
        "Assistant: second",
    ];
    assert_eq!(scene.transcript(), expected);
    assert_eq!(scene.machine.turn().ordinal(), 2);
}

#[test]
fn a_tool_of_the_history_that_has_left_the_catalog_is_sent_as_a_stub() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (says("first"), &["end Answered(Stop)"]),
        ],
    );
    let without = Setup {
        catalog: Arc::default(),
        ..plain()
    };
    let again = Opening::UserMessage(Arc::new(Message::user("again")));
    let (scene, _) = scene.next_turn(again, without);
    let request = scene.request.expect("a request");
    let names: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["read"]);
    assert!(
        request.tools[0]
            .description
            .starts_with("No longer available")
    );
    assert_eq!(rules::check_request(request.messages.iter()), Ok(()));
}

#[test]
fn a_call_of_a_model_that_was_sent_no_tools_makes_a_stub_of_its_name() {
    // A history with calls and a request without tools is refused by some.
    let without = || Setup {
        catalog: Arc::default(),
        ..plain()
    };
    for (called, stub) in [("made_up", "made_up"), ("no name at all!", "tool")] {
        let scene = check(
            without(),
            &["model 1.1"],
            vec![(
                calls(&[called]),
                &[
                    &format!(
                        "{called} NotRun error: There is no tool named `{called}`. No tools are \
                         available; answer without them."
                    ),
                    "model 2.1 Forbidden",
                ],
            )],
        );
        let request = scene.request.expect("a request");
        let names: Vec<&str> = request
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, [stub]);
    }
}

#[test]
fn a_name_that_no_tool_can_have_makes_no_stub_where_there_are_tools() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (
                calls(&["read", "no name at all!"]),
                &[
                    "no name at all! NotRun error: There is no tool named `no name at all!`. The \
                 tools are: again, ask, ask_again, careful, client, denied, read, write.",
                    "run read",
                ],
            ),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (says("first"), &["end Answered(Stop)"]),
        ],
    );
    let again = Opening::UserMessage(Arc::new(Message::user("again")));
    let (scene, _) = scene.next_turn(again, plain());
    assert_eq!(scene.request.expect("a request").tools.len(), 8);
}

#[test]
fn a_session_whose_tools_are_all_gone_answers_without_a_limit() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (says("first"), &["end Answered(Stop)"]),
        ],
    );
    let without = Setup {
        catalog: Arc::default(),
        ..setup(Limits {
            rounds: 1,
            ..Limits::default()
        })
    };
    let again = Opening::UserMessage(Arc::new(Message::user("again")));
    let (mut scene, lines) = scene.next_turn(again, without);
    assert_eq!(lines, ["model 1.1 Forbidden"]);
    scene.go_on(vec![(says("second"), &["end Answered(Stop)"])]);
}
