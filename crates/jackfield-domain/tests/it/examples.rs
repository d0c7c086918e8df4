//! Calls by example: what runs, what does not, and what the model is told of it.

use std::sync::Arc;

use jackfield_domain::block::{CachePoint, RanBy};
use jackfield_domain::fact::Fact;
use jackfield_domain::failure::{Disposition, ToolFailure, ToolFailureKind};
use jackfield_domain::ids::SessionId;
use jackfield_domain::limits::Limits;
use jackfield_domain::message::Message;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::tool_loop::Restrictions;
use jackfield_domain::wait::CancelCause;

use crate::scene::{
    It, Part, Scene, breaks, call, calls, check, finishes, passes, reply, says, text,
};
use crate::world::setup;

fn plain() -> Setup {
    setup(Limits::default())
}

#[test]
fn outcomes_go_back_in_call_order_when_tools_finish_out_of_order() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["write", "read"]), &["run write", "run read"]),
            (finishes("read", "second"), &["read Ran: second"]),
            (
                finishes("write", "first"),
                &["write Ran: first", "model 2.1"],
            ),
            (says("done"), &["end Answered(Stop)"]),
        ],
    );
    let expected = [
        "User: go",
        "Assistant: call write",
        "Assistant: call read",
        "Tool: outcome first",
        "Tool: outcome second",
        "Assistant: done",
    ];
    assert_eq!(scene.transcript(), expected);
}

#[test]
fn the_cache_point_of_a_client_moves_to_the_end_of_each_request() {
    let points = |point: Option<CachePoint>| {
        let mut said = Message::user("go");
        said.blocks[0].cache = point;
        let opening = Opening::UserMessage(Arc::new(said));
        let session = Session::new(SessionId::parse("s-1").expect("an id"));
        let (mut scene, _) = Scene::open(session, opening, Arc::new(plain()), Vec::new());
        scene.go_on(vec![
            (calls(&["read", "write"]), &["run read", "run write"]),
            (finishes("read", "one"), &["read Ran: one"]),
            (finishes("write", "two"), &["write Ran: two", "model 2.1"]),
            (calls(&["read"]), &["run read"]),
            (finishes("read", "three"), &["read Ran: three", "model 3.1"]),
        ]);
        let request = scene.request.expect("a request of the third round");
        let blocks = request.messages.iter().flat_map(|message| &message.blocks);
        blocks.map(|block| block.cache).collect::<Vec<_>>()
    };
    let point = CachePoint {
        seconds: Some(3600),
    };
    // What the client said, two calls and their outcomes, a call and its outcome.
    let mut expected = [None; 7];
    assert_eq!(points(None), expected);
    expected[0] = Some(point);
    expected[6] = Some(point);
    assert_eq!(points(Some(point)), expected);
}

#[test]
fn calls_wait_for_a_free_slot_and_start_in_order() {
    let limits = Limits {
        parallel_calls: 2,
        ..Limits::default()
    };
    check(
        setup(limits),
        &["model 1.1"],
        vec![
            (
                calls(&["write", "again", "read"]),
                &["run write", "run again"],
            ),
            (finishes("again", "b"), &["again Ran: b", "run read"]),
            (finishes("read", "c"), &["read Ran: c"]),
            (finishes("write", "a"), &["write Ran: a", "model 2.1"]),
        ],
    );
}

#[test]
fn a_name_that_no_tool_has_is_answered_with_those_that_there_are() {
    check(
        plain(),
        &["model 1.1"],
        vec![(
            calls(&["gone"]),
            &[
                "gone NotRun error: There is no tool named `gone`. The tools are: \
                 again, ask, ask_again, careful, client, denied, read, write.",
                "model 2.1",
            ],
        )],
    );
}

#[test]
fn malformed_arguments_are_told_to_the_model_and_never_run() {
    for (arguments, fault) in [
        ("{\"n\":", "EOF while parsing a value at line 1 column 5"),
        ("[1]", "a JSON object was expected, not an array"),
        ("null", "a JSON object was expected, not null"),
        ("weather in Oslo", "expected value at line 1 column 1"),
    ] {
        let line = format!(
            "write NotRun error: The call was not run: its arguments are not a valid JSON object \
             ({fault}). Send the call again with valid JSON."
        );
        check(
            plain(),
            &["model 1.1"],
            vec![(
                reply(vec![call("write", arguments)], FinishReason::ToolCalls),
                &[&line, "model 2.1"],
            )],
        );
    }
}

#[test]
fn no_arguments_are_an_empty_object() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![(
            reply(vec![call("write", "")], FinishReason::ToolCalls),
            &["run write "],
        )],
    );
    assert!(scene.messages().len() == 1, "the call is not history yet");
}

#[test]
fn a_rule_that_denies_is_told_and_the_turn_goes_on() {
    check(
        plain(),
        &["model 1.1"],
        vec![(
            calls(&["denied", "read"]),
            &[
                "denied Denied error: The call was not run: denied by a rule.",
                "run read",
            ],
        )],
    );
}

#[test]
fn a_lost_call_is_told_by_what_is_known_of_it() {
    for (disposition, line) in [
        (
            Disposition::NotSent,
            "write NotRun error: The call was not run: gone.",
        ),
        (
            Disposition::Landed,
            "write Reported error: The call took effect, but its result is lost (gone). \
             Do not repeat it.",
        ),
        (
            Disposition::Unknown,
            "write Reported error: Outcome unknown (gone): the call may or may not have taken \
             effect. Check before repeating it.",
        ),
    ] {
        let kind = ToolFailureKind::Unavailable;
        let failure = ToolFailure {
            disposition,
            kind,
            message: "gone".into(),
        };
        let lost = format!("write lost: Unavailable, {disposition:?}, Report");
        check(
            plain(),
            &["model 1.1"],
            vec![
                (calls(&["write"]), &["run write"]),
                (breaks("write", failure), &[&lost, line, "model 2.1"]),
            ],
        );
    }
}

#[test]
fn wrong_arguments_are_told_without_any_addition() {
    let failure = ToolFailure::not_sent(ToolFailureKind::InvalidArguments, "`n` is missing");
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["write"]), &["run write"]),
            (
                breaks("write", failure),
                &[
                    "write lost: InvalidArguments, NotSent, Report",
                    "write NotRun error: `n` is missing",
                    "model 2.1",
                ],
            ),
        ],
    );
}

#[test]
fn a_call_of_unknown_outcome_is_made_three_times_at_most_where_policy_says_retry() {
    let gone = || ToolFailure::unknown(ToolFailureKind::Unavailable, "gone");
    let lost = "again lost: Unavailable, Unknown, Repeat";
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["again"]), &["run again"]),
            (breaks("again", gone()), &[lost, "run again, fresh"]),
            (breaks("again", gone()), &[lost, "run again, fresh"]),
            (
                breaks("again", gone()),
                &[
                    "again lost: Unavailable, Unknown, Report",
                    "again Reported error: Outcome unknown (gone): the call may or may not have \
                 taken effect. Check before repeating it.",
                    "model 2.1",
                ],
            ),
        ],
    );
}

#[test]
fn a_job_elsewhere_is_polled_after_a_crash_and_never_run_again() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["again"]), &["run again"]),
            (It::Accepts("again"), &["again accepted"]),
            (
                It::Crashes(Restrictions::default()),
                &["resumed 1", "resume again"],
            ),
            (finishes("again", "done"), &["again Ran: done", "model 2.1"]),
        ],
    );
}

#[test]
fn a_cancel_ends_the_turn_in_one_step_with_every_call_paired() {
    let limits = Limits {
        parallel_calls: 1,
        ..Limits::default()
    };
    let not_started = "The call was not run: the turn was cancelled before it started.";
    let scene = check(
        setup(limits),
        &["model 1.1"],
        vec![
            (
                calls(&["write", "read", "ask", "client"]),
                &[
                    "wait for approval of ask",
                    "wait for result of client",
                    "run write",
                ],
            ),
            (
                It::Cancels(CancelCause::Asked),
                &[
                    "write lost: Cancelled, Unknown, Report",
                    "write Reported error: Outcome unknown (the turn was cancelled while it ran): \
                     the call may or may not have taken effect. Check before repeating it.",
                    &format!("read Cancelled error: {not_started}"),
                    "wait Cancelled",
                    &format!("ask Cancelled error: {not_started}"),
                    "wait Cancelled",
                    &format!("client Cancelled error: {not_started}"),
                    "abort write",
                    "end Cancelled(Asked)",
                ],
            ),
            (
                It::FinishesLate("write", ToolResult::text("done")),
                &["late outcome of 4 bytes"],
            ),
        ],
    );
    assert_eq!(scene.messages().len(), 3, "go, the calls, their outcomes");
}

#[test]
fn a_cancel_keeps_what_was_said() {
    let begun = It::Replies {
        parts: vec![text("So far.")],
        end: None,
    };
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (begun, &[]),
            (
                It::Cancels(CancelCause::Superseded),
                &[
                    "reply cancelled, said \"So far.\"",
                    "abort model 1.1",
                    "end Cancelled(Superseded)",
                ],
            ),
        ],
    );
    assert_eq!(scene.transcript(), ["User: go", "Assistant: So far."]);
}

#[test]
fn huge_outcomes_are_cut_for_the_model_and_for_storage() {
    let limits = Limits {
        shown: 10,
        stored: 100,
        ..Limits::default()
    };
    let mut scene = check(
        setup(limits),
        &["model 1.1"],
        vec![(calls(&["read"]), &["run read"])],
    );
    scene.play(It::Finishes("read", ToolResult::text("x".repeat(1000))));
    let (result, shown) = scene
        .facts
        .iter()
        .find_map(|fact| match fact {
            Fact::CallClosed { result, shown, .. } => Some((Arc::clone(result), *shown)),
            _ => None,
        })
        .expect("a closed call");
    let stored = "[cut: 1000 bytes were returned, at most 100 are shown]";
    assert_eq!(result.to_text(), format!("{}\n{stored}", "x".repeat(100)));
    assert_eq!(shown, Some(10));
    let last = scene.transcript().pop().expect("an outcome");
    assert!(
        last.starts_with("Tool: outcome xxxxxxxxxx\n[cut: "),
        "{last}"
    );
}

#[test]
fn what_nobody_waits_for_changes_nothing() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (passes(1000), &[]),
            (calls(&["read"]), &["run read"]),
            (passes(1000), &[]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
        ],
    );
}

#[test]
fn free_text_for_a_tool_that_takes_json_is_never_run() {
    let free = Part::Call {
        arguments: "delete everything",
        json: false,
        name: "write",
        ran_by: RanBy::Engine,
    };
    check(
        plain(),
        &["model 1.1"],
        vec![(
            reply(vec![free], FinishReason::ToolCalls),
            &[
                "write NotRun error: The call was not run: its arguments are not a valid JSON \
                 object (free text was sent). Send the call again with valid JSON.",
                "model 2.1",
            ],
        )],
    );
}
