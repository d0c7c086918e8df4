//! Approvers: what counts as an answer, and what silence is.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::tool::ToolOrigin;
use jackfield_engine::{Decision, Engine};
use jackfield_store_memory::MemoryJournal;
use serde_json::{Value, json};

use crate::fixture::{Log, OneTool, Paused, Rounds, asking, message, session};

#[test]
fn whatever_goes_wrong_with_an_approver_is_a_no() {
    let failed = Decision::failed("`may-it-run`", "it ended with code 1");
    let Decision::Deny(reason) = failed else {
        panic!("{failed:?}");
    };
    assert!(reason.contains("it ended with code 1"), "{reason}");
}

#[test]
fn what_is_no_decision_is_none() {
    for answer in [
        json!(null),
        json!("allow"),
        json!({}),
        json!({ "decision": "Allow" }),
        json!({ "decision": true }),
        json!({ "decision": "allow", "arguments": [] }),
        json!({ "decision": "deny", "reason": 7 }),
    ] {
        assert!(Decision::parse(&answer).is_err(), "{answer}");
    }
    let allowed = Decision::parse(&json!({ "decision": "allow", "arguments": null }));
    assert_eq!(allowed, Ok(Decision::Allow(None)));
    let denied = Decision::parse(&json!({ "decision": "deny", "reason": " no " }));
    assert_eq!(denied, Ok(Decision::Deny("no".into())));
    assert_eq!(
        Decision::parse(&json!({ "decision": "ask" })),
        Ok(Decision::Ask)
    );
}

#[test]
fn an_answer_that_says_something_twice_is_none() {
    for (answer, twice) in [
        (r#"{"decision": "deny", "decision": "allow"}"#, "decision"),
        (
            r#"{"decision": "allow", "arguments": {"path": "a", "path": "b"}}"#,
            "path",
        ),
        (
            r#"{"decision": "allow", "arguments": {"of": [{"n": 1, "m": 2, "n": 3}]}}"#,
            "n",
        ),
    ] {
        let why = Decision::read(answer.as_bytes()).expect_err(answer);
        assert!(why.contains(&format!("duplicate field `{twice}`")), "{why}");
    }
    let text = r#"{"decision": "allow", "arguments": {"a": [null, true, -1, 1.5, "x", {"a": 18446744073709551615}]}}"#;
    let whole: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(Decision::read(text.as_bytes()), Decision::parse(&whole));
    let deep = "[".repeat(10_000);
    assert!(Decision::read(deep.as_bytes()).is_err());
}

#[test]
fn of_a_reason_no_more_is_kept_than_anybody_reads() {
    let long = "не ".repeat(200_000);
    let denied = Decision::parse(&json!({ "decision": "deny", "reason": long }));
    let Ok(Decision::Deny(reason)) = denied else {
        panic!("{denied:?}");
    };
    assert_eq!(reason.chars().count(), 3_999 + 1);
    assert!(long.starts_with(&*reason));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_decide_in_time_has_said_no() {
    let log = Log::default();
    let model = Rounds::once(&log, 1);
    let mut asked = OneTool::new(&log, |_| std::future::pending());
    asked.id = ToolboxId::parse("asked").expect("a valid id");
    let approving = ToolOrigin {
        tool: "act".into(),
        toolbox: asked.id.clone(),
    };
    let clock = Arc::new(Paused::default());
    let now = Arc::clone(&clock);
    let journal = MemoryJournal::with_clock(move || now.wall());
    let engine = Engine::builder(Arc::new(journal))
        .model("provider", Arc::new(model))
        .toolbox(Arc::new(OneTool::new(&log, |_| async {
            ToolResult::text("done")
        })))
        .toolbox(Arc::new(asked))
        .approving_tool(approving, Duration::from_secs(2))
        .clock(clock)
        .build();
    let report = engine.send(message(asking()), &mut ()).await;
    assert_eq!(
        report.expect("a report").end,
        TurnEnd::Answered(FinishReason::Stop)
    );
    let steps = engine.load(&session()).await.expect("the session").steps;
    let denied = steps.iter().flat_map(|step| &step.facts).find_map(|fact| {
        let Fact::WaitClosed { end, .. } = fact else {
            return None;
        };
        Some(format!("{end:?}"))
    });
    let denied = denied.expect("the question was closed");
    assert!(denied.contains("it did not answer within 2 s"), "{denied}");
}
