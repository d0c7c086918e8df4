//! Limits and settings by example: each ends or bends a turn, and throws nothing away.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::estimate;
use jackfield_domain::limits::{Allowance, Limits, OnLimit};
use jackfield_domain::message::Message;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::setup::Setup;
use jackfield_domain::usage::Usage;

use crate::scene::{It, Row, Scene, call, calls, check, finishes, passes, reply, says, text};
use crate::world::setup;

fn limited(limits: Limits) -> Setup {
    setup(limits)
}

fn rounds(rounds: u32, on_limit: OnLimit) -> Setup {
    limited(Limits {
        on_limit,
        rounds,
        ..Limits::default()
    })
}

fn spending(allowance: Allowance) -> Setup {
    Setup {
        allowance,
        ..setup(Limits::default())
    }
}

/// The names of the tools that the last request sends.
fn tools_sent(scene: &Scene) -> usize {
    scene.request.as_ref().expect("a request").tools.len()
}

const NO_TOOLS_LEFT: &str =
    "read NotRun error: The call was not run: the turn's last round has no tools.";

#[test]
fn the_last_round_forbids_tools_and_sends_them_all_the_same() {
    let scene = check(
        rounds(2, OnLimit::Answer),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (
                finishes("read", "a"),
                &["read Ran: a", "model 2.1 Forbidden"],
            ),
            (
                says("what I know"),
                &["end Limited { is_error: false, limit: Rounds }"],
            ),
        ],
    );
    assert_eq!(tools_sent(&scene), 8);
}

#[test]
fn calls_that_come_in_the_last_round_anyway_are_closed_and_the_answer_so_far_is_kept() {
    let scene = check(
        rounds(2, OnLimit::Answer),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (
                finishes("read", "a"),
                &["read Ran: a", "model 2.1 Forbidden"],
            ),
            (
                reply(
                    vec![text("So far."), call("read", "{}")],
                    FinishReason::ToolCalls,
                ),
                &[
                    NO_TOOLS_LEFT,
                    "end Limited { is_error: false, limit: Rounds }",
                ],
            ),
        ],
    );
    let last = scene.transcript().split_off(3);
    assert_eq!(last[0], "Assistant: So far.");
    assert_eq!(last[1], "Assistant: call read");
    assert!(last[2].contains("last round has no tools"), "{last:?}");
}

#[test]
fn where_a_limit_is_an_error_there_is_no_last_round() {
    check(
        rounds(2, OnLimit::Error),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (
                calls(&["read"]),
                &[
                    NO_TOOLS_LEFT,
                    "end Limited { is_error: true, limit: Rounds }",
                ],
            ),
        ],
    );
    // A model that is done in the last of them has met no limit.
    check(
        rounds(2, OnLimit::Error),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (says("done"), &["end Answered(Stop)"]),
        ],
    );
}

#[test]
fn one_round_is_one_without_tools() {
    let rows: fn() -> Vec<Row<'static>> = || {
        vec![(
            says("hello"),
            &["end Limited { is_error: false, limit: Rounds }"],
        )]
    };
    check(rounds(1, OnLimit::Answer), &["model 1.1 Forbidden"], rows());
    check(rounds(0, OnLimit::Answer), &["model 1.1 Forbidden"], rows());
}

#[test]
fn one_round_is_no_limit_where_there_are_no_tools() {
    let without = Setup {
        catalog: Arc::default(),
        ..rounds(1, OnLimit::Answer)
    };
    check(
        without,
        &["model 1.1"],
        vec![(says("hello"), &["end Answered(Stop)"])],
    );
}

#[test]
fn the_third_equal_outcome_of_the_same_call_leads_to_the_last_round() {
    check(
        limited(Limits::default()),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "same"), &["read Ran: same", "model 2.1"]),
            (calls(&["read"]), &["run read"]),
            (finishes("read", "same"), &["read Ran: same", "model 3.1"]),
            (calls(&["read"]), &["run read"]),
            (
                finishes("read", "same"),
                &["read Ran: same", "model 4.1 Forbidden"],
            ),
            (
                says("I am stuck"),
                &["end Limited { is_error: false, limit: NoProgress }"],
            ),
        ],
    );
}

#[test]
fn permissions_that_a_provider_gets_do_not_count_as_repeats_and_denials_do() {
    let mut setup = limited(Limits::default());
    let entries = setup.catalog.iter().cloned().map(|mut tool| {
        if tool.definition.name.as_str() == "read" {
            tool.asked_by = Some("agent".into());
        }
        tool
    });
    setup.catalog = Arc::new(entries.collect());
    let denied = || It::Finishes("read", ToolResult::error("no"));
    check(
        setup,
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "same"), &["read Ran: same", "model 2.1"]),
            (calls(&["read"]), &["run read"]),
            (finishes("read", "same"), &["read Ran: same", "model 3.1"]),
            (calls(&["read"]), &["run read"]),
            (finishes("read", "same"), &["read Ran: same", "model 4.1"]),
            (calls(&["read"]), &["run read"]),
            (denied(), &["read Ran error: no", "model 5.1"]),
            (calls(&["read"]), &["run read"]),
            (denied(), &["read Ran error: no", "model 6.1"]),
            (calls(&["read"]), &["run read"]),
            (denied(), &["read Ran error: no", "model 7.1 Forbidden"]),
        ],
    );
}

#[test]
fn the_guard_tells_calls_and_outcomes_apart() {
    // Different arguments, a different outcome, an error of the same words, another tool: progress.
    let one = |arguments| reply(vec![call("read", arguments)], FinishReason::ToolCalls);
    check(
        limited(Limits::default()),
        &["model 1.1"],
        vec![
            (one("{\"n\":1}"), &["run read {\"n\":1}"]),
            (finishes("read", "same"), &["read Ran: same", "model 2.1"]),
            (one("{\"n\":2}"), &["run read {\"n\":2}"]),
            (finishes("read", "same"), &["read Ran: same", "model 3.1"]),
            (one("{\"n\":1}"), &["run read {\"n\":1}"]),
            (finishes("read", "other"), &["read Ran: other", "model 4.1"]),
            (calls(&["write"]), &["run write"]),
            (finishes("write", "same"), &["write Ran: same", "model 5.1"]),
            (one("{\"n\":1}"), &["run read {\"n\":1}"]),
            (
                It::Finishes("read", ToolResult::error("same")),
                &["read Ran error: same", "model 6.1"],
            ),
            // Arguments are the same in any order and with any spaces.
            (one("{ \"n\" : 1 }"), &["run read { \"n\" : 1 }"]),
            (finishes("read", "same"), &["read Ran: same", "model 7.1"]),
            (one("{\"n\":1}"), &["run read {\"n\":1}"]),
            (
                finishes("read", "same"),
                &["read Ran: same", "model 8.1 Forbidden"],
            ),
        ],
    );
}

#[test]
fn the_same_call_several_times_in_one_reply_counts_once() {
    check(
        limited(Limits::default()),
        &["model 1.1"],
        vec![
            (
                calls(&["read", "read", "read"]),
                &["run read", "run read", "run read"],
            ),
            (finishes("read", "same"), &["read Ran: same"]),
            (finishes("read", "same"), &["read Ran: same"]),
            (finishes("read", "same"), &["read Ran: same", "model 2.1"]),
        ],
    );
}

#[test]
fn tokens_are_reserved_before_a_call_and_the_last_rounds_share_is_kept_back() {
    // A reply without a limit of its own reserves 4096 tokens, and what the round before took: 150;
    // the outcome that came since is one token in a message of four.
    let reserve = 4096 + 150 + 5;
    let after_one_round = |tokens: u64| {
        let allowance = Allowance {
            tokens: Some(tokens),
            ..Allowance::default()
        };
        let (mut scene, lines) = Scene::begin(Arc::new(spending(allowance)));
        assert_eq!(lines, ["model 1.1"], "{tokens}");
        scene.go_on(vec![(calls(&["read"]), &["run read"])]);
        let mut lines = scene.play(finishes("read", "a"));
        lines.remove(0);
        lines
    };
    assert_eq!(after_one_round(150 + 2 * reserve), ["model 2.1"]);
    assert_eq!(
        after_one_round(150 + 2 * reserve - 1),
        ["model 2.1 Forbidden"]
    );
}

#[test]
fn where_not_even_a_last_round_can_be_paid_the_turn_ends_with_what_it_has() {
    let allowance = Allowance {
        tokens: Some(8192),
        ..Allowance::default()
    };
    let bounded = |max_output_tokens| Setup {
        settings: Arc::new(jackfield_domain::settings::Settings {
            max_output_tokens: Some(max_output_tokens),
            ..Default::default()
        }),
        ..spending(allowance)
    };
    let setup = spending(allowance);
    let tools: Vec<_> = setup.catalog.iter().map(|tool| &*tool.definition).collect();
    let input = estimate::preamble(&setup.system, tools) + estimate::message(&Message::user("go"));
    let input = u32::try_from(input).expect("a short message");
    // The first call alone is too dear.
    check(
        bounded(8193 - input),
        &["end Limited { is_error: false, limit: Tokens }"],
        vec![],
    );
    check(bounded(8192 - input), &["model 1.1 Forbidden"], vec![]);
    check(bounded(4096 - input), &["model 1.1"], vec![]);
}

#[test]
fn the_last_round_for_want_of_tokens_ends_as_limited() {
    let allowance = Allowance {
        tokens: Some(5000),
        ..Allowance::default()
    };
    check(
        spending(allowance),
        &["model 1.1 Forbidden"],
        vec![(
            says("short"),
            &["end Limited { is_error: false, limit: Tokens }"],
        )],
    );
}

#[test]
fn active_time_counts_what_is_under_way_and_not_what_is_waited_for() {
    let allowance = Allowance {
        active: Some(Duration::from_secs(10)),
        ..Allowance::default()
    };
    let granted = || {
        crate::scene::answer(
            "ask",
            jackfield_domain::wait::Answer::Approval(jackfield_domain::wait::Approval::Granted {
                edited: None,
                for_session: false,
            }),
        )
    };
    check(
        spending(allowance),
        &["model 1.1"],
        vec![
            (passes(4000), &[]),
            (calls(&["ask"]), &["wait for approval of ask"]),
            (passes(3_600_000), &[]),
            (granted(), &["wait Answered", "run ask"]),
            (passes(5999), &[]),
            (finishes("ask", "a"), &["ask Ran: a", "model 2.1"]),
            (passes(1), &[]),
            (calls(&["read"]), &["run read"]),
            (
                finishes("read", "b"),
                &["read Ran: b", "model 3.1 Forbidden"],
            ),
            (
                says("that is all"),
                &["end Limited { is_error: false, limit: ActiveTime }"],
            ),
        ],
    );
}

#[test]
fn a_tool_that_takes_too_long_is_stopped_and_its_outcome_unknown() {
    let scene = check(
        limited(Limits::default()),
        &["model 1.1"],
        vec![
            (calls(&["write"]), &["run write"]),
            (passes(29_999), &[]),
            (
                passes(1),
                &[
                    "write lost: Timeout, Unknown, Report",
                    "write Reported error: Outcome unknown (no answer within 30 s): the call may \
                     or may not have taken effect. Check before repeating it.",
                    "abort write",
                    "model 2.1",
                ],
            ),
            (
                It::FinishesLate("write", ToolResult::text("done")),
                &["late outcome of 4 bytes"],
            ),
            (says("done"), &["end Answered(Stop)"]),
        ],
    );
    assert!(!scene.transcript().join("").contains("outcome done"));
}

#[test]
fn every_call_has_a_clock_of_its_own() {
    let limits = Limits {
        parallel_calls: 1,
        ..Limits::default()
    };
    let mut scene = check(
        limited(limits),
        &["model 1.1"],
        vec![
            (calls(&["write", "read"]), &["run write"]),
            (passes(20_000), &[]),
        ],
    );
    assert_eq!(scene.sleep(), Some(Duration::from_secs(10)));
    scene.go_on(vec![
        (finishes("write", "a"), &["write Ran: a", "run read"]),
        (passes(29_999), &[]),
    ]);
    assert_eq!(scene.sleep(), Some(Duration::from_millis(1)));
}

#[test]
fn numbers_that_no_provider_should_send_are_not_too_large() {
    let allowance = Allowance {
        tokens: Some(u64::MAX),
        ..Allowance::default()
    };
    let usage = Usage {
        input: u64::MAX,
        output: u64::MAX,
        ..Usage::default()
    };
    let end = ReplyEnd {
        usage: Some(usage),
        ..ReplyEnd::new(FinishReason::ToolCalls)
    };
    let dear = It::Replies {
        parts: vec![call("read", "{}")],
        end: Some(end),
    };
    check(
        spending(allowance),
        &["model 1.1"],
        vec![
            // Nobody would be told of what the call brings.
            (
                dear,
                &[
                    "read NotRun error: The call was not run: the turn's tokens are used up.",
                    "end Limited { is_error: false, limit: Tokens }",
                ],
            ),
        ],
    );
}
