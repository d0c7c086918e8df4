//! Waits for approval by example: given, denied, expired, used up, asked for again.

use std::sync::Arc;

use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::tool_loop::Restrictions;
use jackfield_domain::wait::{Answer, Approval};
use serde_json::json;

use super::{DAY, granted, plain};
use crate::scene::{It, answer, breaks, calls, check, finishes, passes};

#[test]
fn a_granted_call_runs_and_the_others_did_not_wait_for_it() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (
                calls(&["ask", "read"]),
                &["wait for approval of ask", "run read"],
            ),
            (finishes("read", "b"), &["read Ran: b"]),
            (answer("ask", granted()), &["wait Answered", "run ask"]),
            (finishes("ask", "a"), &["ask Ran: a", "model 2.1"]),
        ],
    );
}

#[test]
fn the_reason_of_a_denial_reaches_the_model() {
    for (reason, told) in [
        ("not on Fridays", ". The reason given: not on Fridays"),
        ("  ", ""),
    ] {
        let reason = reason.into();
        let line = format!("ask Denied error: The call was not run: it was denied{told}.");
        check(
            plain(),
            &["model 1.1"],
            vec![
                (calls(&["ask"]), &["wait for approval of ask"]),
                (
                    answer("ask", Answer::Approval(Approval::Denied { reason })),
                    &["wait Answered", &line, "model 2.1"],
                ),
            ],
        );
    }
}

#[test]
fn edited_arguments_are_run_and_noted_and_the_models_call_keeps_its_own() {
    let fields = json!({"to": "draft"}).as_object().cloned();
    let edited = Some(Arc::new(fields.expect("an object")));
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["ask"]), &["wait for approval of ask"]),
            (
                answer(
                    "ask",
                    Answer::Approval(Approval::Granted {
                        edited,
                        for_session: false,
                    }),
                ),
                &["wait Answered", "run ask {\"to\":\"draft\"}"],
            ),
            (
                finishes("ask", "sent"),
                &[
                    "ask Ran: [called with arguments that an approver changed: {\"to\":\"draft\"}]\nsent",
                    "model 2.1",
                ],
            ),
        ],
    );
    let request = scene.request.expect("a request");
    let call = request
        .messages
        .iter()
        .find_map(|message| message.calls().next())
        .expect("a call");
    let raw = match &call.input {
        jackfield_domain::tool_input::ToolInput::Json(input) => input.raw(),
        other => panic!("{other:?}"),
    };
    assert_eq!(raw, "{}");
}

#[test]
fn edited_arguments_are_told_even_if_the_call_came_to_nothing() {
    let fields = json!({"to": 1}).as_object().cloned();
    let edited = Some(Arc::new(fields.expect("an object")));
    let wrong = ToolFailure::not_sent(ToolFailureKind::InvalidArguments, "`to` is no text");
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["ask"]), &["wait for approval of ask"]),
            (
                answer(
                    "ask",
                    Answer::Approval(Approval::Granted {
                        edited,
                        for_session: false,
                    }),
                ),
                &["wait Answered", "run ask {\"to\":1}"],
            ),
            (
                breaks("ask", wrong),
                &[
                    "ask lost: InvalidArguments, NotSent, Report",
                    "ask NotRun error: [called with arguments that an approver changed: {\"to\":1}]\n`to` is no text",
                    "model 2.1",
                ],
            ),
        ],
    );
}

#[test]
fn an_approval_that_nobody_gives_expires_after_a_day() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["ask"]), &["wait for approval of ask"]),
            (passes(DAY - 1), &[]),
            (
                passes(1),
                &[
                    "wait Expired",
                    "ask Denied error: The call was not run: nobody approved it in time.",
                    "model 2.1",
                ],
            ),
        ],
    );
}

#[test]
fn a_grant_is_used_up_by_the_start_of_the_call() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["ask"]), &["wait for approval of ask"]),
            (answer("ask", granted()), &["wait Answered", "run ask"]),
            (
                It::Crashes(Restrictions::default()),
                &[
                    "resumed 1",
                    "ask lost: Crashed, Unknown, Report",
                    "ask Reported error: Outcome unknown (the process that ran it ended): the \
                     call may or may not have taken effect. Check before repeating it.",
                    "model 2.1",
                ],
            ),
        ],
    );
}

#[test]
fn a_call_that_is_made_again_is_asked_about_again() {
    let lost = || ToolFailure::unknown(ToolFailureKind::Crashed, "it is gone");
    let denied = Answer::Approval(Approval::Denied {
        reason: "once is enough".into(),
    });
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["ask_again"]), &["wait for approval of ask_again"]),
            (
                answer("ask_again", granted()),
                &["wait Answered", "run ask_again"],
            ),
            (
                breaks("ask_again", lost()),
                &[
                    "ask_again lost: Crashed, Unknown, Repeat",
                    "wait for approval of ask_again",
                ],
            ),
            (
                answer("ask_again", granted()),
                &["wait Answered", "run ask_again, fresh"],
            ),
            (
                breaks("ask_again", lost()),
                &[
                    "ask_again lost: Crashed, Unknown, Repeat",
                    "wait for approval of ask_again",
                ],
            ),
            (
                answer("ask_again", denied),
                &[
                    "wait Answered",
                    "ask_again Reported error: Outcome unknown (it was to be made again, but it was denied. The reason given: once is enough): the call may or may not have taken effect. Check before repeating it.",
                    "model 2.1",
                ],
            ),
        ],
    );
}

#[test]
fn a_grant_for_the_session_answers_the_other_questions_about_the_tool_too() {
    let for_session = Answer::Approval(Approval::Granted {
        edited: None,
        for_session: true,
    });
    check(
        plain(),
        &["model 1.1"],
        vec![
            (
                calls(&["ask", "ask", "ask_again"]),
                &[
                    "wait for approval of ask",
                    "wait for approval of ask",
                    "wait for approval of ask_again",
                ],
            ),
            (
                answer("ask", for_session),
                &["wait Answered", "wait Answered", "run ask", "run ask"],
            ),
        ],
    );
}
