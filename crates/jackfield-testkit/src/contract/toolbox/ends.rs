//! Clauses about calls that end abnormally.
#![expect(clippy::expect_used, reason = "a clause ends where its toolbox fails")]

use std::sync::Arc;

use jackfield_domain::failure::Disposition;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::ToolEnd;
use tokio::sync::mpsc;

use super::ToolboxHarness;
use super::scene::{CRASHING, FAILING, LASTING, LateListener, OUTLIVING, ToolboxScene};
use super::threads::with_timeout;

pub(super) async fn a_failure_of_the_tools_own_is_a_result<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let failing = scene.harness.failing().expect(FAILING);
    let result = scene.result(&scene.run("call", failing)).await;
    assert!(result.is_error, "{result:?}");
    assert!(!result.to_text().trim().is_empty(), "{result:?}");
    let working = scene
        .result(&scene.run("next", scene.harness.working()))
        .await;
    assert!(!working.is_error, "{working:?}");
}

pub(super) async fn dropping_a_call_cancels_it<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let lasting = scene.harness.lasting().expect(LASTING);
    let run = scene.run("call", lasting);
    let toolbox = Arc::clone(&scene.toolbox);
    let call = tokio::spawn(async move {
        toolbox
            .call(&run, &CallContext::default(), &mut ())
            .await
            .is_ok()
    });
    scene.wait_until_running(true).await;
    call.abort();
    let ended = with_timeout(call).await;
    assert!(
        ended.is_err_and(|error| error.is_cancelled()),
        "the call ended by itself"
    );
    scene.wait_until_running(false).await;
    // The toolbox still works.
    scene
        .result(&scene.run("next", scene.harness.working()))
        .await;
}

pub(super) async fn an_outcome_after_the_drop_is_handed_on<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let outliving = scene.harness.outliving().expect(OUTLIVING);
    let run = scene.run("call", outliving);
    let (toolbox, (sender, mut heard)) = (Arc::clone(&scene.toolbox), mpsc::unbounded_channel());
    let call = tokio::spawn(async move {
        toolbox
            .call(&run, &CallContext::default(), &mut LateListener(sender))
            .await
            .is_ok()
    });
    scene.wait_until_running(true).await;
    call.abort();
    let ended = with_timeout(call).await;
    assert!(
        ended.is_err_and(|error| error.is_cancelled()),
        "the call ended by itself"
    );
    // The listener is consumed by the first outcome, so no second one can arrive.
    let late = with_timeout(heard.recv()).await.expect("an outcome");
    assert!(late.size() > 0, "{late:?}");
    assert_eq!(with_timeout(heard.recv()).await, None);
    scene.wait_until_running(false).await;
    scene
        .result(&scene.run("next", scene.harness.working()))
        .await;
}

pub(super) async fn an_outcome_that_came_back_does_not_come_late<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let run = scene.run("call", scene.harness.working());
    let (sender, mut heard) = mpsc::unbounded_channel();
    let ended = with_timeout(scene.toolbox.call(
        &run,
        &CallContext::default(),
        &mut LateListener(sender),
    ))
    .await;
    assert!(matches!(ended, Ok(ToolEnd::Finished(_))), "{ended:?}");
    assert_eq!(with_timeout(heard.recv()).await, None);
}

pub(super) async fn a_crash_of_a_tool_ends_its_call_alone<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let crashing = scene.harness.crashing().expect(CRASHING);
    match scene.end(&scene.run("call", crashing)).await {
        Ok(ToolEnd::Finished(result)) => assert!(result.is_error, "{result:?}"),
        Ok(asked @ ToolEnd::Asked { .. }) => panic!("{asked:?}"),
        Err(failure) => assert_ne!(failure.disposition, Disposition::NotSent, "{failure:?}"),
    }
    scene
        .result(&scene.run("next", scene.harness.working()))
        .await;
}
