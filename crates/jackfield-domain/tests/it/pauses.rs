//! Turns whose budget is used up between rounds: they wait for room in it.

use std::time::Duration;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::limits::Limits;
use jackfield_domain::setup::Setup;
use jackfield_domain::tool_loop::Restrictions;
use jackfield_domain::wait::{Answer, Approval, CancelCause};

use crate::scene::{BUDGET, It, Row, Scene, answer, calls, check, fails, finishes, passes, says};
use crate::world::setup;

fn pausing() -> Setup {
    Setup {
        pauses: true,
        ..setup(Limits::default())
    }
}

fn exhausted(seconds: u64) -> It {
    let kind = ModelFailureKind::BudgetExhausted;
    fails(ModelFailure {
        advice: RetryAdvice::After(Duration::from_secs(seconds)),
        ..ModelFailure::new(kind, Phase::BeforeSend, "5 USD were spent")
    })
}

fn go_on() -> It {
    answer(
        BUDGET,
        Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        }),
    )
}

/// A turn that found its budget used up before its second round, for an hour.
fn paused(mut then: Vec<Row<'_>>) -> Scene {
    let mut rows: Vec<Row<'_>> = vec![
        (calls(&["read"]), &["run read"]),
        (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
        (
            exhausted(3600),
            &[
                "reply failed: BudgetExhausted, again in 3600000 ms",
                "wait for room in the budget",
            ],
        ),
    ];
    rows.append(&mut then);
    check(pausing(), &["model 1.1"], rows)
}

#[test]
fn a_turn_over_budget_waits_and_goes_on_when_it_may() {
    let scene = paused(vec![
        (passes(1000), &[]),
        (go_on(), &["wait Answered", "model 2.2"]),
        (says("done"), &["end Answered(Stop)"]),
    ]);
    assert_eq!(
        scene.transcript(),
        [
            "User: go",
            "Assistant: call read",
            "Tool: outcome a",
            "Assistant: done"
        ]
    );
}

#[test]
fn while_it_waits_nothing_runs() {
    let scene = paused(vec![]);
    assert!(scene.machine.only_waits());
    assert_eq!(scene.sleep(), Some(Duration::from_secs(3600)));
}

#[test]
fn when_the_period_ends_it_goes_on_by_itself() {
    paused(vec![
        (passes(3_599_999), &[]),
        (passes(1), &["wait Expired", "model 2.2"]),
    ]);
}

#[test]
fn it_waits_again_if_there_is_still_no_room() {
    paused(vec![
        (go_on(), &["wait Answered", "model 2.2"]),
        (
            exhausted(60),
            &[
                "reply failed: BudgetExhausted, again in 60000 ms",
                "wait for room in the budget",
            ],
        ),
        (go_on(), &["wait Answered", "model 2.3"]),
        (says("done"), &["end Answered(Stop)"]),
    ]);
}

#[test]
fn what_others_have_reserved_is_not_asked_for_every_few_seconds() {
    check(
        pausing(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (
                exhausted(5),
                &[
                    "reply failed: BudgetExhausted, again in 30000 ms",
                    "wait for room in the budget",
                ],
            ),
        ],
    );
}

#[test]
fn a_denial_ends_it_with_the_failure() {
    let denied = Answer::Approval(Approval::Denied {
        reason: "enough".into(),
    });
    paused(vec![(
        answer(BUDGET, denied),
        &["wait Answered", "end Failed(BudgetExhausted)"],
    )]);
}

#[test]
fn a_cancel_closes_the_wait() {
    for (cause, lines) in [
        (
            CancelCause::Asked,
            ["wait Cancelled", "end Cancelled(Asked)"],
        ),
        (
            CancelCause::Superseded,
            ["wait Superseded", "end Cancelled(Superseded)"],
        ),
    ] {
        paused(vec![(It::Cancels(cause), &lines)]);
    }
}

#[test]
fn a_crash_loses_neither_the_wait_nor_its_deadline() {
    paused(vec![
        (
            It::Crashes(Restrictions::default()),
            &["resumed 1", "wait for room in the budget"],
        ),
        (go_on(), &["wait Answered", "model 2.2"]),
    ]);
    paused(vec![
        (
            It::Crashes(Restrictions::default()),
            &["resumed 1", "wait for room in the budget"],
        ),
        (passes(3_600_000), &["wait Expired", "model 2.2"]),
    ]);
}

/// However often it pauses, the provider's failures are tried again as often as in any other round.
#[test]
fn a_pause_is_no_retry() {
    let overloaded = || {
        let kind = ModelFailureKind::Overloaded;
        fails(ModelFailure {
            advice: RetryAdvice::After(Duration::from_secs(1)),
            ..ModelFailure::new(kind, Phase::BeforeFirstDelta, "too much to do")
        })
    };
    let setup = Setup {
        limits: Limits {
            model_retries: 1,
            ..Limits::default()
        },
        ..pausing()
    };
    let again: &[&str] = &["reply failed: Overloaded, again in 1000 ms"];
    let waits: &[&str] = &[
        "reply failed: BudgetExhausted, again in 60000 ms",
        "wait for room in the budget",
    ];
    check(
        setup,
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (exhausted(60), waits),
            (go_on(), &["wait Answered", "model 2.2"]),
            (overloaded(), again),
            (passes(1000), &["model 2.3"]),
        ],
    );
}

#[test]
fn a_first_round_and_a_turn_that_may_not_wait_end() {
    check(
        pausing(),
        &["model 1.1"],
        vec![(
            exhausted(60),
            &[
                "reply failed: BudgetExhausted",
                "end Failed(BudgetExhausted)",
            ],
        )],
    );
    check(
        setup(Limits::default()),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            (
                exhausted(60),
                &[
                    "reply failed: BudgetExhausted",
                    "end Failed(BudgetExhausted)",
                ],
            ),
        ],
    );
}
