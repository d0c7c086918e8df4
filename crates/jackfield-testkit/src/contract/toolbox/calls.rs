//! Clauses about calls.
#![expect(clippy::expect_used, reason = "a clause ends where its toolbox fails")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::request::ToolRun;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::lease::LeaseDeadline;
use jackfield_ports::toolbox::ToolEnd;
use serde_json::json;

use super::effects::has_one_effect;
use super::scene::{FAILING, ToolboxScene};
use super::threads::with_timeout;
use super::{SampleCall, ToolboxHarness};

pub(super) async fn a_call_runs_its_tool_once<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    for (id, runs) in [("one", 1), ("two", 2)] {
        scene.result(&scene.run(id, scene.harness.working())).await;
        assert_eq!(scene.runs(), runs);
    }
    for (nth, id) in ["three", "four"].into_iter().enumerate() {
        for (n, call) in scene.harness.acting(nth).into_iter().enumerate() {
            has_one_effect(&scene, &scene.run(&format!("{id}_{n}"), call)).await;
        }
    }
}

pub(super) async fn a_call_is_not_made_after_its_lease<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let lease = LeaseDeadline::at(Instant::now() + A_WHILE);
    let context = CallContext::new(lease.clone());
    let made = scene.run("in_time", scene.harness.working());
    let ended = scene.end_in(&made, &context).await;
    assert!(
        matches!(&ended, Ok(ToolEnd::Finished(result)) if !result.is_error),
        "the lease lasts: {ended:?}"
    );
    lease.end_now();
    let (runs, effects) = (scene.harness.runs(), scene.harness.effects().await);
    let calls = scene.harness.acting(0).into_iter();
    for (n, call) in calls.chain([scene.harness.working()]).enumerate() {
        let run = scene.run(&format!("late_{n}"), call);
        let failure = scene.end_in(&run, &context).await.expect_err("a failure");
        assert_eq!(failure.disposition, Disposition::NotSent, "{failure:?}");
    }
    assert_eq!(scene.harness.runs(), runs, "a tool ran");
    assert_eq!(
        scene.harness.effects().await,
        effects,
        "a tool had an effect"
    );
}

/// Longer than a call takes.
const A_WHILE: Duration = Duration::from_secs(600);

pub(super) async fn a_failed_call_is_not_tried_again<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let failing = scene.harness.failing().expect(FAILING);
    scene.result(&scene.run("call", failing)).await;
    assert_eq!(scene.runs(), 1);
}

pub(super) async fn an_unknown_tool_is_proved_not_to_have_run<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let call = SampleCall::new("no_such_tool", json!({}));
    let failure = scene
        .end(&scene.run("call", call))
        .await
        .expect_err("a failure");
    assert_eq!(failure.kind, ToolFailureKind::UnknownTool, "{failure:?}");
    assert_eq!(failure.disposition, Disposition::NotSent, "{failure:?}");
    assert!(failure.message.contains("no_such_tool"), "{failure:?}");
    assert_eq!(scene.harness.runs().unwrap_or(0), 0);
}

pub(super) async fn an_outcome_at_the_limit_is_whole<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let run = scene.run("whole", scene.harness.working());
    let whole = scene.result(&run).await;
    let limited = ToolRun {
        max_bytes: whole.size(),
        ..scene.run("limited", scene.harness.working())
    };
    assert_eq!(scene.result(&limited).await, whole);
}

pub(super) async fn an_outcome_above_the_limit_is_cut_with_a_marker<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let whole = scene
        .result(&scene.run("whole", scene.harness.working()))
        .await;
    let limit = whole.size() / 2;
    assert!(limit > 0, "the harness has an outcome of two bytes or more");
    let limited = ToolRun {
        max_bytes: limit,
        ..scene.run("limited", scene.harness.working())
    };
    let mut cut = scene.result(&limited).await;
    assert_eq!(cut.is_error, whole.is_error);
    let marker = cut.content.pop();
    let marker = marker
        .as_ref()
        .and_then(OutcomePart::as_text)
        .unwrap_or_default();
    let said_anyway = whole.to_text().contains(marker);
    assert!(!said_anyway, "`{marker}` says nothing of a cut");
    assert!(
        cut.size() <= limit,
        "{} bytes are more than {limit}",
        cut.size()
    );
}

pub(super) async fn what_cannot_be_taken_up_is_not_run<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let handle = JobHandle(Arc::new(json!({ "no": "such job" })));
    let taken = with_timeout(
        scene
            .toolbox
            .resume(&handle, None, &CallContext::default(), &mut ()),
    )
    .await;
    let failure = taken.expect_err("a failure").failure;
    assert_ne!(failure.disposition, Disposition::NotSent, "{failure:?}");
    assert_eq!(scene.harness.runs().unwrap_or(0), 0);
}
