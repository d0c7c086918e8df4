//! Clauses about the effects of calls: what `Idempotent` and `ReadOnly` promise.
#![expect(clippy::expect_used, reason = "a clause ends where its toolbox fails")]

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use jackfield_domain::ids::ToolAttempt;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::Safety;
use jackfield_ports::call_context::CallContext;

use super::scene::{ACTING, READ_ONLY, RESTARTED, ToolboxScene};
use super::threads::with_timeout;
use super::{SampleCall, ToolboxHarness};

pub(super) async fn a_repetition_has_no_further_effect<H: ToolboxHarness>() {
    for tool in 0..tools::<H>().await {
        let scene = ToolboxScene::<H>::begin().await;
        let first = scene.run("first", idempotent(&scene, tool, 0).await);
        has_one_effect(&scene, &first).await;
        // A recovery repeats an attempt; a client with a key of its own repeats its request, which is another call.
        let request = ToolRun {
            key: first.key.clone(),
            ..scene.run("request", idempotent(&scene, tool, 0).await)
        };
        for repetition in [again(&first, 2), request] {
            has_no_effect(&scene, &repetition).await;
        }
        // Other calls do not displace the key.
        for nth in 1..=OTHERS {
            let other = idempotent(&scene, tool, nth).await;
            scene
                .result(&scene.run(&format!("other_{nth}"), other))
                .await;
        }
        has_no_effect(&scene, &again(&first, 3)).await;
        after_each_drop::<H>(tool).await;
    }
}

/// A call that was dropped is repeated, too; whatever it had done by then, it has one effect in the end.
async fn after_each_drop<H: ToolboxHarness>(tool: usize) {
    for polls in 1..=MAX_POLLS {
        let scene = ToolboxScene::<H>::begin().await;
        let run = scene.run("dropped", idempotent(&scene, tool, 0).await);
        let before = scene.effects().await;
        let ended = with_timeout(polled(
            scene.toolbox.call(&run, &CallContext::default(), &mut ()),
            polls,
        ))
        .await;
        if ended.is_some() {
            return;
        }
        scene.record(&run, &format_args!("dropped after {polls} polls"));
        scene.result(&again(&run, 2)).await;
        let after = scene.effects().await;
        assert_eq!(
            after.len(),
            before.len() + 1,
            "a call that was dropped after {polls} polls and repeated has one effect: {before:?} became {after:?}"
        );
    }
}

pub(super) async fn a_repetition_has_the_same_outcome<H: ToolboxHarness>() {
    for tool in 0..tools::<H>().await {
        let scene = ToolboxScene::<H>::begin().await;
        let call = idempotent(&scene, tool, 0).await;
        let failing = scene.harness.failing();
        let failing = failing.filter(|failing| failing.tool == call.tool);
        for (id, call) in [("first", Some(call)), ("failing", failing)] {
            let Some(call) = call else { continue };
            let first = scene.run(id, call);
            let outcome = scene.result(&first).await;
            assert_eq!(scene.result(&again(&first, 2)).await, outcome);
            let other = format!("{id}_other");
            let other = scene.run(&other, idempotent(&scene, tool, 1).await);
            scene.result(&other).await;
            assert_eq!(scene.result(&again(&first, 3)).await, outcome);
        }
    }
}

pub(super) async fn a_repetition_after_a_restart_has_no_further_effect<H: ToolboxHarness>() {
    for tool in 0..tools::<H>().await {
        let mut scene = ToolboxScene::<H>::begin().await;
        let first = scene.run("first", idempotent(&scene, tool, 0).await);
        has_one_effect(&scene, &first).await;
        scene.toolbox = scene.harness.restarted().await.expect(RESTARTED);
        has_no_effect(&scene, &again(&first, 2)).await;
    }
}

pub(super) async fn another_key_is_another_call<H: ToolboxHarness>() {
    for tool in 0..tools::<H>().await {
        let scene = ToolboxScene::<H>::begin().await;
        for id in ["one", "two"] {
            let run = scene.run(id, idempotent(&scene, tool, 0).await);
            has_one_effect(&scene, &run).await;
        }
    }
}

pub(super) async fn a_read_only_call_has_no_effect<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let calls = scene.harness.read_only();
    assert!(!calls.is_empty(), "{READ_ONLY}");
    let others = [Some(scene.harness.working()), scene.harness.failing()];
    let calls = calls.into_iter().chain(others.into_iter().flatten());
    let calls = scene.promised(Safety::ReadOnly, calls.collect()).await;
    for (n, call) in calls.into_iter().enumerate() {
        let run = scene.run(&format!("call_{n}"), call);
        has_no_effect(&scene, &run).await;
    }
}

/// The number of tools that are `Idempotent`, by the calls of the harness.
async fn tools<H: ToolboxHarness>() -> usize {
    let scene = ToolboxScene::<H>::begin().await;
    let acting = scene.harness.acting(0);
    let calls = scene.promised(Safety::Idempotent, acting).await;
    assert!(!calls.is_empty(), "{ACTING}");
    calls.len()
}

/// The nth call of the tool with this number.
async fn idempotent<H: ToolboxHarness>(
    scene: &ToolboxScene<H>,
    tool: usize,
    nth: usize,
) -> SampleCall {
    let acting = scene.harness.acting(nth);
    let calls = scene.promised(Safety::Idempotent, acting).await;
    calls.into_iter().nth(tool).expect(ACTING)
}

/// The same call again, as the loop repeats it.
fn again(run: &ToolRun, attempt: u32) -> ToolRun {
    let call = run.attempt.call.clone();
    ToolRun {
        attempt: ToolAttempt { call, attempt },
        fresh: true,
        ..run.clone()
    }
}

pub(super) async fn has_one_effect<H: ToolboxHarness>(scene: &ToolboxScene<H>, run: &ToolRun) {
    let before = scene.effects().await;
    let result = scene.result(run).await;
    assert!(
        !result.is_error,
        "the call of the harness fails: {result:?}"
    );
    let after = scene.effects().await;
    assert_eq!(
        after.len(),
        before.len() + 1,
        "a call has one effect, and it is there when the call returns: {before:?} became {after:?}"
    );
}

async fn has_no_effect<H: ToolboxHarness>(scene: &ToolboxScene<H>, run: &ToolRun) {
    let before = scene.effects().await;
    scene.result(run).await;
    assert_eq!(scene.effects().await, before, "the last call had an effect");
}

/// The answer, unless it takes more polls; then it is dropped.
async fn polled<T>(answer: impl Future<Output = T>, most: usize) -> Option<T> {
    let (mut answer, mut polls) = (pin!(answer), 0);
    poll_fn(|context| {
        polls += 1;
        match answer.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if polls == most => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Calls between a call and its repetition.
const OTHERS: usize = 100;

/// At how many places a call is dropped.
const MAX_POLLS: usize = 32;
