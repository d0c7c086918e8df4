//! Model calls that fail: what is tried again and when, and what is kept of a broken reply.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Fact, Late};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::ids::{ModelAttempt, SessionId};
use jackfield_domain::limits::Limits;
use jackfield_domain::message::Message;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRef;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::target::Target;
use jackfield_domain::tool_loop::{Input, Restrictions};
use jackfield_domain::usage::Usage;

use crate::scene::{It, Part, Scene, call, calls, check, fails, finishes, passes, says, text};
use crate::world::setup;

fn plain() -> Setup {
    setup(Limits::default())
}

fn able_to_supersede() -> Setup {
    Setup {
        can_supersede: true,
        ..plain()
    }
}

fn failure(kind: ModelFailureKind, advice: RetryAdvice) -> ModelFailure {
    ModelFailure {
        advice,
        ..ModelFailure::new(kind, Phase::BeforeFirstDelta, "too much to do")
    }
}

fn overloaded(advice: RetryAdvice) -> It {
    fails(failure(ModelFailureKind::Overloaded, advice))
}

const fn after(seconds: u64) -> RetryAdvice {
    RetryAdvice::After(Duration::from_secs(seconds))
}

fn begun(parts: Vec<Part>) -> It {
    It::Replies { parts, end: None }
}

#[test]
fn a_server_that_says_when_is_asked_again_then() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (
                overloaded(after(60)),
                &["reply failed: Overloaded, again in 60000 ms"],
            ),
            (passes(59_999), &[]),
            (passes(1), &["model 1.2"]),
            (says("here"), &["end Answered(Stop)"]),
        ],
    );
}

#[test]
fn a_server_that_says_later_than_a_minute_is_not_waited_for() {
    check(
        plain(),
        &["model 1.1"],
        vec![(
            overloaded(after(61)),
            &["reply failed: Overloaded", "end Failed(Overloaded)"],
        )],
    );
}

#[test]
fn what_would_fail_again_is_not_tried_again() {
    check(
        plain(),
        &["model 1.1"],
        vec![(
            overloaded(RetryAdvice::Never),
            &["reply failed: Overloaded", "end Failed(Overloaded)"],
        )],
    );
}

#[test]
fn a_model_call_is_tried_again_twice_and_each_round_anew() {
    let again = "reply failed: Overloaded, again in 1000 ms";
    check(
        plain(),
        &["model 1.1"],
        vec![
            (overloaded(after(1)), &[again]),
            (passes(1000), &["model 1.2"]),
            (overloaded(after(1)), &[again]),
            (passes(1000), &["model 1.3"]),
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (overloaded(after(1)), &[again]),
            (passes(1000), &["model 2.2"]),
            (overloaded(after(1)), &[again]),
            (passes(1000), &["model 2.3"]),
            (
                overloaded(after(1)),
                &["reply failed: Overloaded", "end Failed(Overloaded)"],
            ),
        ],
    );
}

#[test]
fn an_unusable_reply_is_asked_for_once_more_and_each_round_anew() {
    let unusable = || fails(failure(ModelFailureKind::UnusableReply, after(1)));
    let again = "reply failed: UnusableReply, again in 1000 ms";
    check(
        plain(),
        &["model 1.1"],
        vec![
            (unusable(), &[again]),
            (passes(1000), &["model 1.2"]),
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (unusable(), &[again]),
            (passes(1000), &["model 2.2"]),
            (
                unusable(),
                &["reply failed: UnusableReply", "end Failed(UnusableReply)"],
            ),
        ],
    );
}

#[test]
fn an_unusable_reply_counts_over_a_crash() {
    let unusable = || fails(failure(ModelFailureKind::UnusableReply, after(1)));
    check(
        plain(),
        &["model 1.1"],
        vec![
            (
                unusable(),
                &["reply failed: UnusableReply, again in 1000 ms"],
            ),
            (It::Crashes(Restrictions::default()), &["resumed 1"]),
            (passes(1000), &["model 1.2"]),
            (
                unusable(),
                &["reply failed: UnusableReply", "end Failed(UnusableReply)"],
            ),
        ],
    );
}

#[test]
fn a_scheduled_retry_is_kept_over_a_crash() {
    check(
        plain(),
        &["model 1.1"],
        vec![
            (
                overloaded(after(5)),
                &["reply failed: Overloaded, again in 5000 ms"],
            ),
            (passes(2000), &[]),
            (It::Crashes(Restrictions::default()), &["resumed 1"]),
            (passes(2999), &[]),
            (passes(1), &["model 1.2"]),
        ],
    );
}

#[test]
fn a_reply_that_fails_after_visible_text_is_not_called_again_and_the_text_is_kept() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (begun(vec![text("So far.")]), &[]),
            (
                overloaded(after(1)),
                &[
                    "reply failed: Overloaded, said \"So far.\"",
                    "end Interrupted(Overloaded)",
                ],
            ),
        ],
    );
    assert_eq!(scene.transcript(), ["User: go", "Assistant: So far."]);
}

#[test]
fn where_text_can_be_taken_back_the_model_is_called_again() {
    let scene = check(
        able_to_supersede(),
        &["model 1.1"],
        vec![
            (begun(vec![text("So far.")]), &[]),
            (
                overloaded(after(1)),
                &["reply failed: Overloaded, said \"So far.\", again in 1000 ms"],
            ),
            (passes(1000), &["model 1.2"]),
            (says("All of it."), &["end Answered(Stop)"]),
        ],
    );
    assert_eq!(scene.transcript(), ["User: go", "Assistant: All of it."]);
}

#[test]
fn a_reply_that_said_nothing_yet_is_called_again() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (begun(vec![text("")]), &[]),
            (
                overloaded(after(1)),
                &["reply failed: Overloaded, again in 1000 ms"],
            ),
        ],
    );
    assert_eq!(scene.transcript(), ["User: go"]);
}

#[test]
fn calls_of_a_reply_that_broke_off_are_not_run_and_not_kept() {
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (begun(vec![text("Let me."), call("write", "{}")]), &[]),
            (
                overloaded(RetryAdvice::Backoff),
                &[
                    "reply failed: Overloaded, said \"Let me.\"",
                    "end Interrupted(Overloaded)",
                ],
            ),
        ],
    );
    assert_eq!(scene.transcript(), ["User: go", "Assistant: Let me."]);
}

#[test]
fn a_model_that_says_nothing_for_too_long_is_given_up() {
    let scene = check(
        able_to_supersede(),
        &["model 1.1"],
        vec![
            (passes(119_999), &[]),
            // Every piece counts as a sign of life.
            (begun(vec![Part::Thinking("hm")]), &[]),
            (passes(119_999), &[]),
        ],
    );
    assert_eq!(scene.sleep(), Some(Duration::from_millis(1)));
    let mut scene = scene;
    let lines = scene.play(passes(1));
    assert!(
        lines[0].starts_with("reply failed: Timeout, again in "),
        "{lines:?}"
    );
    assert_eq!(lines[1..], ["abort model 1.1"]);
}

#[test]
fn a_reply_that_cannot_be_read_is_aborted_and_not_tried_again() {
    let delta = Delta::BlockEnded { index: 7 };
    let attempt = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    check(
        plain(),
        &["model 1.1"],
        vec![(
            It::Told(Input::ReplyDelta { attempt, delta }),
            &[
                "reply failed: ProtocolViolation",
                "abort model 1.1",
                "end Failed(ProtocolViolation)",
            ],
        )],
    );
}

#[test]
fn a_context_that_is_too_long_ends_the_turn_and_the_next_one_is_valid() {
    let kind = ModelFailureKind::ContextTooLong {
        limit: Some(1000),
        requested: Some(1200),
    };
    let line = "ContextTooLong { limit: Some(1000), requested: Some(1200) }";
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (
                fails(failure(kind, kind.default_advice())),
                &[
                    &format!("reply failed: {line}"),
                    &format!("end Failed({line})"),
                ],
            ),
        ],
    );
    let shorter = Opening::UserMessage(Arc::new(Message::user("shorter")));
    let (mut scene, lines) = scene.next_turn(shorter, plain());
    assert_eq!(lines, ["model 1.1"]);
    scene.go_on(vec![(says("yes"), &["end Answered(Stop)"])]);
}

#[test]
fn what_a_given_up_call_used_is_counted_and_what_it_said_is_not_heard() {
    let first = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    let late = || {
        let usage = Usage {
            input: 7,
            output: 3,
            ..Usage::default()
        };
        let end = ReplyEnd {
            usage: Some(usage),
            ..ReplyEnd::new(FinishReason::Stop)
        };
        It::Told(Input::ReplyEnded {
            attempt: first,
            end: Box::new(end),
        })
    };
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (
                overloaded(after(1)),
                &["reply failed: Overloaded, again in 1000 ms"],
            ),
            (passes(1000), &["model 1.2"]),
            (late(), &["late usage of 10 tokens"]),
            (says("here"), &["end Answered(Stop)"]),
        ],
    );
    assert_eq!(scene.machine.turn().usage().total(), 10 + 150);
    assert_eq!(scene.transcript(), ["User: go", "Assistant: here"]);
}

#[test]
fn the_pauses_before_trying_again_grow_from_half_a_second_to_eight_seconds() {
    let limits = Limits {
        model_retries: 8,
        ..Limits::default()
    };
    let mut seen = Vec::new();
    for session in 0..64 {
        let id = SessionId::parse(&format!("s{session}")).expect("a valid id");
        let opening = Opening::UserMessage(Arc::new(Message::user("go")));
        let (mut scene, _) = Scene::open(
            Session::new(id),
            opening,
            Arc::new(setup(limits)),
            Vec::new(),
        );
        for n in 0..8 {
            let _lines = scene.play(overloaded(RetryAdvice::Backoff));
            let pause = scene.sleep().expect("a retry").as_millis();
            let longest = 8000.min(1000 << n);
            assert!((longest / 2..=longest).contains(&pause), "{n}: {pause}");
            seen.push(pause);
            let lines = scene.play(It::Passes(Duration::from_millis(8000)));
            assert_eq!(lines, [format!("model 1.{}", n + 2)]);
        }
    }
    let (shortest, longest) = (seen.iter().min(), seen.iter().max());
    assert!(shortest < Some(&550) && longest > Some(&7800), "{seen:?}");
}

#[test]
fn what_a_reply_used_is_counted_once() {
    let first = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    let usage = Usage {
        input: 100,
        output: 50,
        ..Usage::default()
    };
    let end = ReplyEnd {
        usage: Some(usage),
        ..ReplyEnd::new(FinishReason::ToolCalls)
    };
    let again = Input::ReplyEnded {
        attempt: first,
        end: Box::new(end),
    };
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (It::Told(again.clone()), &[]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (It::Told(again), &[]),
        ],
    );
    let mut turn = scene.machine.turn().clone();
    assert_eq!(turn.usage(), usage);
    // Nor does a journal that says it again.
    let attempt = first;
    turn.apply(&Fact::Late(Late::Usage { attempt, usage }));
    assert_eq!(turn.usage(), usage);
}

#[test]
fn what_a_reply_used_that_cannot_be_read_is_counted() {
    let attempt = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    let (index, start) = (0, BlockStart::Text);
    let delta = Delta::BlockStarted { index, start };
    let scene = check(
        plain(),
        &["model 1.1"],
        vec![
            (It::Told(Input::ReplyDelta { attempt, delta }), &[]),
            (
                says_nothing(),
                &[
                    "reply failed: ProtocolViolation, used 150",
                    "end Failed(ProtocolViolation)",
                ],
            ),
        ],
    );
    assert_eq!(scene.machine.turn().usage().total(), 150);
}

/// The end of a reply, without any further piece.
fn says_nothing() -> It {
    crate::scene::reply(Vec::new(), FinishReason::Stop)
}

/// A setup with a second target, which retries nothing.
fn two_targets() -> Setup {
    let limits = Limits {
        model_retries: 0,
        ..Limits::default()
    };
    let second = ModelRef {
        model: "model-2".into(),
        provider: "other".into(),
    };
    Setup {
        fallbacks: vec![Target {
            content_filter: false,
            first_byte: None,
            model: second,
            price: None,
            window: None,
        }],
        ..setup(limits)
    }
}

#[test]
fn a_failure_is_followed_at_once_twice_and_is_no_retry() {
    let again = "reply failed: Overloaded, again in 0 ms";
    let retry = "reply failed: Overloaded, again in 1000 ms";
    check(
        plain(),
        &["model 1.1"],
        vec![
            (overloaded(RetryAdvice::AtOnce), &[again, "model 1.2"]),
            (overloaded(RetryAdvice::AtOnce), &[again, "model 1.3"]),
            (overloaded(after(1)), &[retry]),
            (passes(1000), &["model 1.4"]),
            (overloaded(after(1)), &[retry]),
            (passes(1000), &["model 1.5"]),
            (says("here"), &["end Answered(Stop)"]),
        ],
    );
}

#[test]
fn the_next_target_is_called_once_the_first_has_failed() {
    check(
        two_targets(),
        &["model 1.1"],
        vec![
            (
                overloaded(RetryAdvice::Backoff),
                &[
                    "reply failed: Overloaded, again in 0 ms",
                    "to 1: Fallback",
                    "model 1.2",
                ],
            ),
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (
                overloaded(RetryAdvice::Backoff),
                &["reply failed: Overloaded", "end Failed(Overloaded)"],
            ),
        ],
    );
}

#[test]
fn a_request_that_is_refused_goes_to_no_other_target() {
    let refused = failure(ModelFailureKind::InvalidRequest, RetryAdvice::Never);
    check(
        two_targets(),
        &["model 1.1"],
        vec![(
            fails(refused),
            &["reply failed: InvalidRequest", "end Failed(InvalidRequest)"],
        )],
    );
}
