//! Calls: their time, their progress, that they are taken back, and what is proved of them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{LateOutcomeHandler, ToolEnd, ToolEvents, Toolbox as _};
use jackfield_tools_mcp::IDEMPOTENCY_KEY;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::harness::{Heard, Scripted, run, script, soon, through_shell, tool};

#[tokio::test]
async fn a_call_bears_its_arguments_and_its_idempotency_key() {
    for era in ["legacy", "modern"] {
        let mut echo = script("echo", &json!([{ "echo": true }]));
        echo["era"] = json!(era);
        let server = Scripted::new(echo);
        let arguments = json!({ "city": "Köln", "days": [1, 2], "nested": { "a": null } });
        let run = run("echo", arguments.clone());
        let Ok(ToolEnd::Finished(result)) = server.end(&run).await else {
            panic!("{era}");
        };
        let said = result.structured.unwrap();
        assert_eq!(said["arguments"], arguments, "{era}");
        assert_eq!(said["meta"][IDEMPOTENCY_KEY], run.key.as_str(), "{era}");
        server.kept();
    }
}

/// A call within a trace.
struct Traced(TraceContext);

#[async_trait]
impl ToolEvents for Traced {
    async fn on_accepted(&mut self, _handle: JobHandle) {}

    fn trace(&self) -> Option<&TraceContext> {
        Some(&self.0)
    }

    async fn on_progress(&mut self, _done: f64, _of: Option<f64>, _message: Option<String>) {}
}

#[tokio::test]
async fn a_call_passes_its_trace_on() {
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for era in ["legacy", "modern"] {
        let mut echo = script("echo", &json!([{ "echo": true }]));
        echo["era"] = json!(era);
        let server = Scripted::new(echo);
        let mut events = Traced(TraceContext::parse(parent, Some("a=b")).unwrap());
        let run = run("echo", json!({}));
        let ended = soon(
            server
                .toolbox
                .call(&run, &CallContext::default(), &mut events),
        )
        .await;
        let Ok(ToolEnd::Finished(result)) = ended else {
            panic!("{era}");
        };
        let meta = &result.structured.unwrap()["meta"];
        assert_eq!(meta["traceparent"], parent, "{era}");
        assert_eq!(meta["tracestate"], "a=b", "{era}");
        server.kept();
    }
}

#[tokio::test]
async fn a_silent_call_ends_at_its_limit_and_the_server_is_told() {
    let server = Scripted::with(script("last", &json!([{ "wait": true }])), |config, _| {
        config.call_limit = Duration::from_millis(200);
    });
    let failure = server.failure("last").await;
    assert_eq!(failure.kind, ToolFailureKind::Timeout);
    assert_eq!(failure.disposition, Disposition::Unknown);
    assert!(failure.message.contains("0.2 s"), "{failure:?}");
    server.until("cancelled \"last\"", 1).await;
    server.kept();
}

/// Hears what comes of its call after that was given up.
struct Patient(mpsc::UnboundedSender<ToolResult>);

#[async_trait]
impl ToolEvents for Patient {
    async fn on_accepted(&mut self, _handle: JobHandle) {}

    fn late_outcome(&self) -> Option<LateOutcomeHandler> {
        let heard = self.0.clone();
        Some(LateOutcomeHandler::new(move |result| {
            let _gone = heard.send(result);
        }))
    }

    async fn on_progress(&mut self, _done: f64, _of: Option<f64>, _message: Option<String>) {}
}

#[tokio::test]
async fn a_server_that_answers_after_the_limit_is_heard_and_the_next_call_is_its_own() {
    for era in ["legacy", "modern"] {
        let mut last = script("last", &json!([{ "wait": "it was done by then" }]));
        last["era"] = json!(era);
        let server = Scripted::with(last, |config, _| {
            config.call_limit = Duration::from_millis(200);
        });
        let (sender, mut heard) = mpsc::unbounded_channel();
        for _ in 0..2 {
            let run = run("last", json!({}));
            let mut events = Patient(sender.clone());
            let context = CallContext::default();
            let call = server.toolbox.call(&run, &context, &mut events);
            let failure = soon(call).await.unwrap_err().failure;
            assert_eq!(failure.kind, ToolFailureKind::Timeout, "{era}");
            let late = soon(heard.recv()).await.unwrap();
            assert_eq!(late, ToolResult::text("it was done by then"), "{era}");
        }
        drop(sender);
        assert_eq!(soon(heard.recv()).await, None, "{era}");
        server.kept();
    }
}

#[tokio::test]
async fn progress_gives_a_call_its_time_again_and_is_told_in_order() {
    let mut steps = Vec::new();
    for done in 1..=8 {
        steps.push(json!({ "sleep": 400 }));
        steps.push(json!({ "progress": [done, 8, format!("step {done}")] }));
    }
    steps.push(json!({ "text": "at last" }));
    // All steps together take longer than one call may without progress, each of them far less.
    let server = Scripted::with(script("slow", &steps.into()), |config, _| {
        config.call_limit = Duration::from_secs(3);
    });
    let mut heard = Heard::default();
    let end = soon(server.toolbox.call(
        &run("slow", json!({})),
        &CallContext::default(),
        &mut heard,
    ))
    .await;
    assert!(matches!(end, Ok(ToolEnd::Finished(_))), "{end:?}");
    let expected: Vec<_> = (1..=8)
        .map(|done| (f64::from(done), Some(8.0), Some(format!("step {done}"))))
        .collect();
    assert_eq!(heard.progress, expected);
}

#[tokio::test]
async fn progress_does_not_go_on_for_ever() {
    let steps: Vec<_> = (0..200)
        .flat_map(|n| [json!({ "progress": [n] }), json!({ "sleep": 20 })])
        .collect();
    let server = Scripted::with(script("slow", &steps.into()), |config, _| {
        config.call_limit = Duration::from_secs(2);
        config.longest_call = Duration::from_secs(3);
    });
    let failure = server.failure("slow").await;
    assert_eq!(failure.kind, ToolFailureKind::Timeout);
    assert!(failure.message.contains("3 s"), "{failure:?}");
}

#[tokio::test]
async fn what_stands_still_is_no_progress() {
    let steps: Vec<_> = (0..300)
        .flat_map(|_| [json!({ "progress": [1] }), json!({ "sleep": 20 })])
        .collect();
    let server = Scripted::with(script("stuck", &steps.into()), |config, _| {
        config.call_limit = Duration::from_secs(2);
    });
    let mut heard = Heard::default();
    let end = soon(server.toolbox.call(
        &run("stuck", json!({})),
        &CallContext::default(),
        &mut heard,
    ))
    .await;
    assert_eq!(end.unwrap_err().failure.kind, ToolFailureKind::Timeout);
    assert_eq!(heard.progress.len(), 1);
}

#[tokio::test]
async fn a_call_whose_caller_went_away_is_taken_back_in_both_eras() {
    for era in ["legacy", "modern"] {
        let mut last = script("last", &json!([{ "wait": true }]));
        last["era"] = json!(era);
        let server = Scripted::new(last);
        let toolbox = Arc::clone(&server.toolbox);
        let call = tokio::spawn(async move {
            let run = run("last", json!({}));
            toolbox
                .call(&run, &CallContext::default(), &mut ())
                .await
                .is_ok()
        });
        server.until("call last", 1).await;
        call.abort();
        server.until("cancelled \"last\"", 1).await;
        server.kept();
    }
}

#[tokio::test]
async fn a_server_that_is_stopped_still_gets_the_cancellation_of_its_call() {
    let last = script("last", &json!([{ "wait": true }]));
    // Without an order of the two, the stop overtakes the cancellation in some of the rounds.
    for _ in 0..16 {
        let server = Scripted::new(last.clone());
        let (run, mut events) = (run("last", json!({})), ());
        let context = CallContext::default();
        tokio::select! {
            _ = server.toolbox.call(&run, &context, &mut events) => panic!("the call does not end"),
            () = server.until("call last", 1) => {}
        }
        soon(server.toolbox.stop()).await;
        assert_eq!(server.count("said notifications/cancelled"), 1);
        server.kept();
    }
}

#[tokio::test]
async fn sixty_four_calls_run_at_once() {
    // None of them is answered before all of them are there.
    let server = Scripted::new(script("hold", &json!([{ "hold": 64 }])));
    let mut calls = tokio::task::JoinSet::new();
    for nth in 0..64 {
        let toolbox = Arc::clone(&server.toolbox);
        calls.spawn(async move {
            let run = run("hold", json!({ "nth": nth }));
            toolbox
                .call(&run, &CallContext::default(), &mut ())
                .await
                .is_ok()
        });
    }
    while let Some(called) = soon(calls.join_next()).await {
        assert!(called.unwrap());
    }
}

#[tokio::test]
async fn what_was_never_written_is_proved_not_to_have_been_sent() {
    // The server reads one byte after the list and says so, and nothing more: its pipe fills up.
    let server = Scripted::with(script("greet", &json!([])), |config, _| {
        config.call_limit = Duration::from_millis(500);
        let reading = "head -n 1; head -n 1; head -c 1 > /dev/null; echo begun >&2; sleep 5";
        through_shell(config, &format!("{{ {reading}; }} | \"$0\" \"$1\""));
    });
    server.list().await;
    let large = json!({ "text": "x".repeat(1 << 20) });
    let first = {
        let toolbox = Arc::clone(&server.toolbox);
        tokio::spawn(async move {
            let run = run("greet", large);
            toolbox
                .call(&run, &CallContext::default(), &mut ())
                .await
                .unwrap_err()
                .failure
        })
    };
    soon(async {
        while !server
            .toolbox
            .log()
            .iter()
            .any(|line| line.contains("begun"))
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let second = server.failure("greet").await;
    let first = soon(first).await.unwrap();
    assert_eq!(first.kind, ToolFailureKind::Timeout);
    assert_eq!(
        first.disposition,
        Disposition::Unknown,
        "a part of it was written"
    );
    assert_eq!(second.kind, ToolFailureKind::Timeout);
    assert_eq!(second.disposition, Disposition::NotSent);
}

#[tokio::test]
async fn a_refusal_is_an_outcome_in_words_of_its_own() {
    let refuse =
        |code: i64, message: &str| json!([{ "error": { "code": code, "message": message } }]);
    let server = Scripted::new(json!({
        "tools": [tool("arguments"), tool("method"), tool("fault")],
        "calls": {
            "arguments": refuse(-32602, "city is missing"),
            "method": refuse(-32601, "no tools here"),
            "fault": refuse(-32603, "disk full"),
        },
    }));
    for (tool, words) in [
        (
            "arguments",
            "does not take this call: city is missing (error -32602)",
        ),
        (
            "method",
            "does not know how to be called: no tools here (error -32601)",
        ),
        ("fault", "failed: disk full (error -32603)"),
    ] {
        let result = server.result(tool, json!({})).await;
        assert!(result.is_error);
        assert!(result.to_text().contains(words), "{result:?}");
    }
}

#[tokio::test]
async fn a_fresh_server_is_started_for_a_call_that_the_old_one_may_be_at() {
    let server = Scripted::with(
        json!({
            "tools": [tool("greet"), tool("last")],
            "calls": { "greet": [{ "text": "hello" }], "last": [{ "wait": true }] },
        }),
        |config, _| config.call_limit = Duration::from_millis(1500),
    );
    let lost = run("last", json!({}));
    server.end(&lost).await.unwrap_err();
    // Another call may use the server as it is.
    let other = ToolRun {
        fresh: true,
        ..run("greet", json!({}))
    };
    server.end(&other).await.unwrap();
    assert_eq!(server.count("start"), 1);
    // The same one may not.
    let again = ToolRun {
        fresh: true,
        ..lost
    };
    server.end(&again).await.unwrap_err();
    assert_eq!(server.count("start"), 2);
    let remade = ToolRun {
        fresh: true,
        ..run("greet", json!({}))
    };
    server.end(&remade).await.unwrap();
    assert_eq!(server.count("start"), 2);
}

#[tokio::test]
async fn arguments_that_are_no_object_are_not_sent() {
    use jackfield_domain::tool_input::ToolInput;
    let server = Scripted::new(script("greet", &json!([])));
    let text = ToolRun {
        input: ToolInput::Text("hello".into()),
        ..run("greet", json!({}))
    };
    let failure = server.end(&text).await.unwrap_err();
    assert_eq!(failure.kind, ToolFailureKind::InvalidArguments);
    assert_eq!(failure.disposition, Disposition::NotSent);
    assert_eq!(server.count("start"), 0);
}

#[tokio::test]
async fn instructions_are_there_while_the_server_runs() {
    let mut script = script("greet", &Value::Null);
    script["instructions"] = json!("Greet politely.");
    let server = Scripted::new(script);
    assert_eq!(server.toolbox.instructions().await, None);
    server.toolbox.start().await.unwrap();
    assert_eq!(
        server.toolbox.instructions().await.as_deref(),
        Some("Greet politely.")
    );
}

#[tokio::test]
async fn times_without_end_are_no_fault() {
    let server = Scripted::with(script("greet", &json!([])), |config, settings| {
        config.call_limit = Duration::MAX;
        config.longest_call = Duration::MAX;
        settings.backoff = Duration::MAX;
        settings.grace = Duration::MAX;
        settings.list_limit = Duration::MAX;
        settings.longest_backoff = Duration::MAX;
        settings.probe = Duration::MAX;
        settings.start_limit = Duration::MAX;
    });
    let run = ToolRun {
        time_limit: Duration::MAX,
        ..run("greet", json!({}))
    };
    server.end(&run).await.unwrap();
    soon(server.toolbox.stop()).await;
    let broken = Scripted::with(json!({ "exit": 1 }), |_, settings| {
        settings.backoff = Duration::MAX;
        settings.longest_backoff = Duration::MAX;
    });
    soon(broken.toolbox.start()).await.unwrap_err();
    soon(broken.toolbox.start()).await.unwrap_err();
}
