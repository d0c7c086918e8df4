//! The scripted toolbox.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{Disposition, ToolFailure, ToolFailureKind};
use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{Safety, ToolOrigin};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::JobHandle;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolEvents, Toolbox};
use jackfield_testkit::fakes::{Ending, Gate, ScriptedCall, ScriptedToolbox};
use serde_json::json;

use super::complaint;

fn toolbox() -> ScriptedToolbox {
    let id = ToolboxId::parse("box").unwrap_or_else(|invalid| panic!("{invalid}"));
    let toolbox = ScriptedToolbox::new(id);
    toolbox.tool("act", Safety::Unknown);
    toolbox
}

fn run(call: &str, attempt: u32) -> ToolRun {
    let call = ToolCallId::parse(call).unwrap_or_else(|invalid| panic!("{invalid}"));
    ToolRun {
        fresh: false,
        input: ToolInput::Json(JsonInput::parse("{}")),
        key: IdempotencyKey::derive(&call),
        attempt: ToolAttempt { call, attempt },
        max_bytes: 1_000,
        time_limit: Duration::from_secs(1),
        tool: ToolOrigin {
            tool: "act".into(),
            toolbox: ToolboxId::parse("box").unwrap_or_else(|invalid| panic!("{invalid}")),
        },
    }
}

async fn text_of(port: &Arc<dyn Toolbox>, run: &ToolRun) -> Result<String, ToolFailure> {
    match port.call(run, &CallContext::default(), &mut ()).await {
        Ok(ToolEnd::Finished(result)) => Ok(result.to_text()),
        Ok(ToolEnd::Asked { question, .. }) => Ok(question.message.to_string()),
        Err(error) => Err(error.failure),
    }
}

#[tokio::test]
async fn tools_do_what_the_script_says_in_order_and_then_what_they_always_do() {
    let toolbox = toolbox();
    let failure = ToolFailure::unknown(ToolFailureKind::Timeout, "too slow");
    toolbox
        .push_call("act", ScriptedCall::text("one"))
        .push_call("act", ScriptedCall::failure(failure.clone()))
        .push_call("act", ScriptedCall::question("Which?", json!(1)))
        .set_default_call("act", ScriptedCall::text("again"));
    let port = toolbox.port();
    let mut ends = Vec::new();
    for call in ["a", "b", "c", "d", "e"] {
        ends.push(text_of(&port, &run(call, 1)).await);
    }
    let said = |text: &str| Ok(text.to_owned());
    let expected = [
        said("one"),
        Err(failure),
        said("Which?"),
        said("again"),
        said("again"),
    ];
    assert_eq!(ends, expected);
    assert_eq!(port.list().await.expect("a list").len(), 1);
    assert_eq!(toolbox.runs().len(), 5);
}

#[tokio::test]
async fn an_unknown_tool_is_proved_not_to_have_run() {
    let toolbox = toolbox();
    let mut other = run("a", 1);
    other.tool.tool = "gone".into();
    let failure = text_of(&toolbox.port(), &other)
        .await
        .expect_err("a failure");
    let expected = (Disposition::NotSent, ToolFailureKind::UnknownTool);
    assert_eq!((failure.disposition, failure.kind), expected);
}

#[tokio::test]
async fn calls_under_way_at_once_are_counted_and_their_ends_are_kept() {
    let (toolbox, gate) = (toolbox(), Gate::new());
    toolbox.push_call("act", ScriptedCall::panicking());
    toolbox.set_default_call("act", ScriptedCall::text("done").held_at(&gate));
    let calls: Vec<_> = ["p", "a", "b", "c"]
        .map(|call| {
            let port = toolbox.port();
            tokio::spawn(async move { text_of(&port, &run(call, 1)).await })
        })
        .into_iter()
        .collect();
    gate.reached().await;
    let [panicked, dropped, ..] = &calls[..] else {
        panic!("four calls");
    };
    while !panicked.is_finished() {
        tokio::task::yield_now().await;
    }
    dropped.abort();
    while !dropped.is_finished() {
        tokio::task::yield_now().await;
    }
    gate.open();
    for call in calls {
        let _ended = call.await.is_ok();
    }
    let ends: Vec<_> = toolbox.calls().iter().map(|call| call.ending).collect();
    let (back, dropped) = (Ending::CameBack, Ending::Dropped);
    assert_eq!(ends, [dropped, dropped, back, back]);
    assert_eq!(toolbox.max_concurrent_calls(), 3);
}

#[derive(Default)]
struct Heard {
    accepted: Vec<JobHandle>,
    progress: Vec<(f64, Option<f64>, Option<String>)>,
}

#[async_trait]
impl ToolEvents for Heard {
    async fn on_accepted(&mut self, handle: JobHandle) {
        self.accepted.push(handle);
    }

    async fn on_progress(&mut self, done: f64, of: Option<f64>, message: Option<String>) {
        self.progress.push((done, of, message));
    }
}

#[tokio::test]
async fn what_happens_on_the_way_is_told_and_a_handle_takes_a_call_up_again() {
    let toolbox = toolbox();
    let call = ScriptedCall::text("done")
        .accepted(json!("job"))
        .progressed(0.5, Some(1.0), Some("half"));
    toolbox
        .push_call("act", call)
        .push_resume(ScriptedCall::text("resumed"));
    let (port, mut heard) = (toolbox.port(), Heard::default());
    port.call(&run("a", 1), &CallContext::default(), &mut heard)
        .await
        .expect("an end");
    let handle = JobHandle(Arc::new(json!("job")));
    assert_eq!(heard.accepted, std::slice::from_ref(&handle));
    assert_eq!(heard.progress, [(0.5, Some(1.0), Some("half".to_owned()))]);
    let resumed = port
        .resume(&handle, None, &CallContext::default(), &mut heard)
        .await
        .expect("an end");
    assert_eq!(resumed, ToolEnd::Finished(ToolResult::text("resumed")));
    assert_eq!(toolbox.runs().len(), 1);
}

#[tokio::test]
async fn what_may_not_be_done_to_a_toolbox_fails_the_test() {
    let held = Gate::new();
    let malformed = ToolRun {
        input: ToolInput::Json(JsonInput::parse("{")),
        ..run("a", 1)
    };
    let another_key = ToolRun {
        key: IdempotencyKey::parse("another").expect("a valid key"),
        ..run("a", 2)
    };
    let elsewhere = ToolRun {
        tool: ToolOrigin {
            toolbox: ToolboxId::parse("elsewhere").expect("a valid id"),
            ..run("a", 1).tool
        },
        ..run("a", 1)
    };
    let cases = [
        (vec![malformed], "malformed"),
        (vec![run("a", 1), run("a", 1)], "twice"),
        (vec![run("a", 1), another_key], "two keys"),
        (vec![elsewhere], "elsewhere"),
    ];
    for (runs, word) in cases {
        let toolbox = toolbox();
        toolbox.set_default_call("act", ScriptedCall::text("done"));
        for run in runs {
            text_of(&toolbox.port(), &run).await.expect("an end");
        }
        let complaint = complaint(toolbox).unwrap_or_default();
        assert!(complaint.contains(word), "{word}: {complaint}");
    }

    let at_once = toolbox();
    at_once.push_call("act", ScriptedCall::text("slow").held_at(&held));
    at_once.push_call("act", ScriptedCall::text("second"));
    let port = at_once.port();
    let first = tokio::spawn(async move { text_of(&port, &run("a", 1)).await });
    held.reached().await;
    text_of(&at_once.port(), &run("a", 2))
        .await
        .expect("an end");
    first.abort();
    assert!(
        complaint(at_once)
            .unwrap_or_default()
            .contains("while it was running")
    );

    let unscripted = toolbox();
    assert!(text_of(&unscripted.port(), &run("a", 1)).await.is_err());
    assert!(
        complaint(unscripted)
            .unwrap_or_default()
            .contains("nothing to do")
    );
}
