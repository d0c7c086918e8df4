//! Waits by example: the caller's own tools, questions of tools, unknown outcomes.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::Content;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::limits::Limits;
use jackfield_domain::message::Message;
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::tool_loop::Restrictions;
use jackfield_domain::wait::{Answer, Approval, CancelCause, ElicitationAnswer, UnknownAnswer};
use serde_json::json;

use crate::scene::{It, answer, asks, breaks, calls, check, finishes, passes, says};
use crate::world::setup;

mod approvals;

fn plain() -> Setup {
    setup(Limits::default())
}

const DAY: u64 = 24 * 60 * 60 * 1000;

fn granted() -> Answer {
    Answer::Approval(Approval::Granted {
        edited: None,
        for_session: false,
    })
}

#[test]
fn a_server_tool_runs_at_once_beside_a_client_tool_and_the_model_is_called_when_both_are_there() {
    for client_first in [true, false] {
        let client = || {
            answer(
                "client",
                Answer::ClientResult(ToolResult::text("mine").into()),
            )
        };
        let begun: crate::scene::Row<'_> = (
            calls(&["client", "write"]),
            &["wait for result of client", "run write"],
        );
        let rows = if client_first {
            vec![
                begun,
                (client(), &["wait Answered", "client ByClient: mine"]),
                (
                    finishes("write", "theirs"),
                    &["write Ran: theirs", "model 2.1"],
                ),
            ]
        } else {
            vec![
                begun,
                (finishes("write", "theirs"), &["write Ran: theirs"]),
                (
                    client(),
                    &["wait Answered", "client ByClient: mine", "model 2.1"],
                ),
            ]
        };
        let scene = check(plain(), &["model 1.1"], rows);
        let outcomes = scene.transcript().split_off(3);
        assert_eq!(outcomes, ["Tool: outcome mine", "Tool: outcome theirs"]);
    }
}

#[test]
fn a_client_tool_that_expires_ends_the_turn_paired_and_a_late_result_forks_from_there() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (
                calls(&["client", "write"]),
                &["wait for result of client", "run write"],
            ),
            (finishes("write", "done"), &["write Ran: done"]),
            (
                passes(120_000),
                &[
                    "wait Expired",
                    "client ClientExpired error: No result was sent within 120 s.",
                    "end ClientExpired",
                ],
            ),
        ],
    );
    let call = scene.call_named("client");
    let outcome = ToolOutcome {
        call,
        opaque: Vec::new(),
        result: ToolResult::text("late, but here"),
    };
    // The conversation has gone on in the meantime; the late result leaves that aside.
    let meanwhile = Opening::UserMessage(Arc::new(Message::user("never mind")));
    let (mut scene, _) = scene.next_turn(meanwhile, plain());
    scene.go_on(vec![(says("all right"), &["end Answered(Stop)"])]);
    assert_eq!(scene.messages().len(), 5);
    let late = Opening::ClientResults(vec![Arc::new(outcome)]);
    let (mut scene, lines) = scene.next_turn(late, plain());
    assert_eq!(lines, ["model 1.1"]);
    scene.go_on(vec![(says("thanks"), &["end Answered(Stop)"])]);
    let expected = [
        "User: go",
        "Assistant: call client",
        "Assistant: call write",
        "Tool: outcome late, but here",
        "Tool: outcome done",
        "Assistant: thanks",
    ];
    assert_eq!(scene.transcript(), expected);
}

#[test]
fn a_running_server_tool_is_waited_for_when_the_client_has_expired() {
    let limits = Limits {
        client_tool: Duration::from_secs(5),
        ..Limits::default()
    };
    check(
        setup(limits),
        &["model 1.1"],
        vec![
            (
                calls(&["client", "write"]),
                &["wait for result of client", "run write"],
            ),
            (
                passes(5000),
                &[
                    "wait Expired",
                    "client ClientExpired error: No result was sent within 5 s.",
                ],
            ),
            (
                finishes("write", "done"),
                &["write Ran: done", "end ClientExpired"],
            ),
        ],
    );
}

#[test]
fn a_tools_question_is_asked_and_the_tool_goes_on_with_the_answer() {
    let accepted = ElicitationAnswer::Accepted(Arc::new(json!("that")));
    for (given, resumed) in [
        (accepted, "resume read with Accepted(String(\"that\"))"),
        (ElicitationAnswer::Declined, "resume read with Declined"),
        (ElicitationAnswer::Dismissed, "resume read with Dismissed"),
    ] {
        check(
            plain(),
            &["model 1.1"],
            vec![
                (calls(&["read"]), &["run read"]),
                (asks("read"), &["wait for answer for read"]),
                (passes(DAY / 2), &[]),
                (
                    answer("read", Answer::Elicitation(given)),
                    &["wait Answered", resumed],
                ),
                (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            ],
        );
    }
}

#[test]
fn a_tools_question_that_nobody_answers_is_told_to_the_model() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (asks("read"), &["wait for answer for read"]),
            (
                passes(DAY),
                &[
                    "wait Expired",
                    "read Reported error: The tool asked for something in the middle of the \
                     call, and nobody answered.",
                    "abandon read",
                    "model 2.1",
                ],
            ),
        ],
    );
}

#[test]
fn a_tools_question_is_given_up_with_its_turn() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (asks("read"), &["wait for answer for read"]),
            (
                It::Cancels(CancelCause::Asked),
                &[
                    "wait Cancelled",
                    "read Reported error: Outcome unknown (the turn was cancelled): the call may or may \
                     not have taken effect. Check before repeating it.",
                    "abandon read",
                    "end Cancelled(Asked)",
                ],
            ),
        ],
    );
}

#[test]
fn a_person_says_what_became_of_a_call_that_nobody_knows_of() {
    let landed = UnknownAnswer::Landed(ToolResult::text("it did"));
    let cases: [(UnknownAnswer, &[&str]); 3] = [
        (
            landed,
            &["wait Answered", "careful Reported: it did", "model 2.1"],
        ),
        (
            UnknownAnswer::Report,
            &[
                "wait Answered",
                "careful Reported error: Outcome unknown (a person was asked): the call may or \
                 may not have taken effect. Check before repeating it.",
                "model 2.1",
            ],
        ),
        (
            UnknownAnswer::Retry,
            &["wait Answered", "run careful, fresh"],
        ),
    ];
    for (given, lines) in cases {
        let failure = ToolFailure::unknown(ToolFailureKind::Unavailable, "gone");
        check(
            plain(),
            &["model 1.1"],
            vec![
                (calls(&["careful"]), &["run careful"]),
                (
                    breaks("careful", failure),
                    &[
                        "careful lost: Unavailable, Unknown, Ask",
                        "wait for word about careful",
                    ],
                ),
                (answer("careful", Answer::UnknownOutcome(given)), lines),
            ],
        );
    }
}

#[test]
fn a_wait_stays_the_same_over_a_crash() {
    let mut scene = check(
        plain(),
        &["model 1.1"],
        vec![(calls(&["ask"]), &["wait for approval of ask"])],
    );
    let before: Vec<_> = scene.machine.turn().waits().cloned().collect();
    scene.go_on(vec![(
        It::Crashes(Restrictions::default()),
        &["resumed 1", "wait for approval of ask"],
    )]);
    let after: Vec<_> = scene.machine.turn().waits().cloned().collect();
    assert_eq!(before, after);
    scene.go_on(vec![(
        answer("ask", granted()),
        &["wait Answered", "run ask"],
    )]);
}

#[test]
fn an_answer_to_another_question_answers_nothing() {
    let mut scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["ask"]), &["wait for approval of ask"]),
            (
                answer("ask", Answer::ClientResult(ToolResult::text("hm").into())),
                &[],
            ),
        ],
    );
    scene.go_on(vec![(
        answer("ask", granted()),
        &["wait Answered", "run ask"],
    )]);
}

#[test]
fn the_turn_only_waits_when_nothing_runs() {
    let mut scene = check(
        plain(),
        &["model 1.1"],
        vec![(
            calls(&["ask", "read"]),
            &["wait for approval of ask", "run read"],
        )],
    );
    assert!(!scene.machine.only_waits());
    assert_eq!(scene.sleep(), Some(Duration::from_secs(30)));
    scene.go_on(vec![(finishes("read", "a"), &["read Ran: a"])]);
    assert!(scene.machine.only_waits());
    assert_eq!(scene.sleep(), Some(Duration::from_millis(DAY)));
    let closed = scene
        .messages()
        .iter()
        .flat_map(|message| &message.blocks)
        .filter(|block| matches!(block.content, Content::ToolOutcome(_)));
    assert_eq!(closed.count(), 0, "half a round is not history");
}

#[test]
fn a_late_result_is_cut_as_any_other() {
    let limits = Limits {
        shown: 10,
        ..Limits::default()
    };
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["client"]), &["wait for result of client"]),
            (
                passes(120_000),
                &[
                    "wait Expired",
                    "client ClientExpired error: No result was sent within 120 s.",
                    "end ClientExpired",
                ],
            ),
        ],
    );
    let call = scene.call_named("client");
    let outcome = ToolOutcome {
        call,
        opaque: Vec::new(),
        result: ToolResult::text("x".repeat(100)),
    };
    let late = Opening::ClientResults(vec![Arc::new(outcome)]);
    let (scene, _) = scene.next_turn(late, setup(limits));
    let last = scene.transcript().pop();
    let cut = "Tool: outcome xxxxxxxxxx\n[cut: 100 bytes were returned, at most 10 are shown]";
    assert_eq!(last.as_deref(), Some(cut));
}
