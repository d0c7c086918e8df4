//! Calls: at once, taken back, cut off, told of on the way.

use std::sync::Arc;

use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_testkit::fakes::{Ending, Gate, ScriptedCall, ScriptedToolbox};
use serde_json::json;

use crate::harness::{Wire, server, text, toolbox};

/// A toolbox with a tool `read` that does this in its next call.
fn reading(call: ScriptedCall) -> ScriptedToolbox {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly).push_call("read", call);
    tools
}

/// Waits until the first call is over, and says how.
async fn ending(tools: &ScriptedToolbox) -> Ending {
    let over = async {
        loop {
            match tools.calls().first().map(|call| call.ending) {
                Some(ending) if ending != Ending::Running => return ending,
                Some(_) | None => tokio::task::yield_now().await,
            }
        }
    };
    let over = tokio::time::timeout(crate::harness::TIME_LIMIT, over).await;
    over.expect("the call is over in time")
}

#[tokio::test]
async fn two_calls_overlap_and_are_answered_in_the_order_of_their_ends() {
    let (tools, first, second) = (toolbox("ours"), Gate::new(), Gate::new());
    tools
        .tool("slow", Safety::ReadOnly)
        .tool("fast", Safety::ReadOnly);
    tools.push_call("slow", ScriptedCall::text("slow").held_at(&first));
    tools.push_call("fast", ScriptedCall::text("fast").held_at(&second));
    let mut wire = Wire::to(server(&tools));
    wire.call(1, "slow", json!({})).await;
    wire.call(2, "fast", json!({})).await;
    // Both are in the middle of it.
    first.reached().await;
    second.reached().await;
    second.open();
    let answer = wire.hear().await;
    assert_eq!((&answer["id"], text(&answer)), (&json!(2), "fast"));
    first.open();
    let answer = wire.hear().await;
    assert_eq!((&answer["id"], text(&answer)), (&json!(1), "slow"));
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_at_once_than_may_and_the_others_wait() {
    let (tools, gate) = (toolbox("ours"), Gate::new());
    tools
        .tool("read", Safety::ReadOnly)
        .set_default_call("read", ScriptedCall::text("done").held_at(&gate));
    let mut wire = Wire::with(&tools, |settings| settings.most_calls = 3);
    for id in 0..10 {
        wire.call(id, "read", json!({})).await;
    }
    gate.reached().await;
    // Whatever is not a call is answered meanwhile.
    wire.lives().await;
    // This time passes only when whatever can start has started.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(tools.max_concurrent_calls(), 3);
    gate.open();
    let mut ids = Vec::new();
    for _ in 0..10 {
        let answer = wire.hear().await;
        assert_eq!(text(&answer), "done");
        ids.extend(answer["id"].as_u64());
    }
    ids.sort_unstable();
    assert_eq!(ids, Vec::from_iter(0..10));
    assert_eq!(tools.max_concurrent_calls(), 3);
}

#[tokio::test]
async fn a_call_that_is_taken_back_is_aborted_and_has_no_answer() {
    let gate = Gate::new();
    let tools = reading(ScriptedCall::text("done").held_at(&gate));
    let mut wire = Wire::to(server(&tools));
    wire.call(1, "read", json!({})).await;
    gate.reached().await;
    wire.say(json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": 1, "reason": "no longer wanted" },
    }))
    .await;
    assert_eq!(ending(&tools).await, Ending::Dropped);
    wire.lives().await;
    wire.hang_up().await;
    assert!(wire.rest().await.is_empty());
}

#[tokio::test]
async fn a_call_that_waits_for_its_turn_can_be_taken_back_and_never_runs() {
    let gate = Gate::new();
    let tools = reading(ScriptedCall::text("done").held_at(&gate));
    let mut wire = Wire::with(&tools, |settings| settings.most_calls = 1);
    wire.call(1, "read", json!({})).await;
    gate.reached().await;
    wire.call(2, "read", json!({})).await;
    wire.say(json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 },
    }))
    .await;
    wire.lives().await;
    gate.open();
    assert_eq!(text(&wire.hear().await), "done");
    wire.hang_up().await;
    assert!(wire.rest().await.is_empty());
    assert_eq!(tools.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_outlives_the_input_is_aborted_after_its_moment_and_told_so() {
    let gate = Gate::new();
    let tools = reading(ScriptedCall::text("done").held_at(&gate));
    let mut wire = Wire::to(server(&tools));
    wire.call(1, "read", json!({})).await;
    gate.reached().await;
    let before = tokio::time::Instant::now();
    wire.hang_up().await;
    let rest = wire.rest().await;
    assert!(before.elapsed() < std::time::Duration::from_secs(1));
    assert_eq!(tools.calls()[0].ending, Ending::Dropped);
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(
        (&rest[0]["id"], &rest[0]["error"]["code"]),
        (&json!(1), &json!(-32000))
    );
}

#[tokio::test]
async fn what_was_asked_before_the_input_ended_is_still_answered() {
    let tools = toolbox("ours");
    tools
        .tool("read", Safety::ReadOnly)
        .set_default_call("read", ScriptedCall::text("done"));
    let mut wire = Wire::to(server(&tools));
    for id in 0..20 {
        wire.call(id, "read", json!({})).await;
    }
    // The last line has no end.
    let last = crate::harness::request("last", "tools/list", json!({}));
    wire.raw(last.to_string().as_bytes()).await;
    wire.hang_up().await;
    let rest = wire.rest().await;
    assert_eq!(rest.len(), 21, "{rest:?}");
    assert!(
        rest.iter().all(|answer| answer["result"].is_object()),
        "{rest:?}"
    );
}

#[tokio::test]
async fn a_server_that_is_stopped_aborts_its_calls_at_once() {
    let gate = Gate::new();
    let tools = reading(ScriptedCall::text("done").held_at(&gate));
    let mut wire = Wire::with(&tools, |settings| {
        settings.grace = std::time::Duration::from_secs(3600);
    });
    wire.call(1, "read", json!({})).await;
    gate.reached().await;
    wire.stop();
    wire.rest().await;
    assert_eq!(tools.calls()[0].ending, Ending::Dropped);
}

#[tokio::test]
async fn progress_is_told_before_the_answer_to_whoever_asks_for_it() {
    let call = ScriptedCall::text("done")
        .progressed(1.0, Some(3.0), Some("one"))
        .progressed(1.0, None, Some("stands still"))
        .progressed(f64::NAN, None, None)
        .progressed(2.5, None, None);
    let tools = toolbox("ours");
    tools
        .tool("read", Safety::ReadOnly)
        .set_default_call("read", call);
    let mut wire = Wire::to(server(&tools));
    for token in [json!("t"), json!(7)] {
        let meta = json!({ "progressToken": token });
        wire.ask(1, "tools/call", json!({ "name": "read", "_meta": meta }))
            .await;
        let told = wire.hear().await;
        assert_eq!(told["method"], "notifications/progress");
        let first =
            json!({ "progressToken": token, "progress": 1.0, "total": 3.0, "message": "one" });
        assert_eq!(told["params"], first);
        let second = json!({ "progressToken": token, "progress": 2.5 });
        assert_eq!(wire.hear().await["params"], second);
        assert_eq!(text(&wire.hear().await), "done");
    }
    // Nobody asks.
    wire.call(2, "read", json!({})).await;
    assert_eq!(text(&wire.hear().await), "done");
}

#[tokio::test]
async fn an_idempotency_key_is_passed_on_and_one_that_is_none_is_not() {
    let tools = toolbox("ours");
    tools
        .tool("write", Safety::Idempotent)
        .set_default_call("write", ScriptedCall::text("done"));
    let options = {
        let mut options = crate::harness::options();
        options
            .policy
            .rules
            .push(jackfield_domain::policy::PolicyRule {
                pattern: "*".into(),
                verdict: jackfield_domain::policy::RuleVerdict::Allow,
            });
        options
    };
    let standing = jackfield_engine::ToolboxStatus {
        prefix: Some("".into()),
        server: None,
        trusted: false,
    };
    let journal = Arc::new(jackfield_store_memory::MemoryJournal::default());
    let engine = jackfield_engine::Engine::builder(journal).toolbox_as(tools.port(), standing);
    let mut wire = Wire::to(jackfield_mcp_server::ToolServer::new(
        engine.build(),
        options,
    ));
    for key in [
        json!("order-17"),
        json!("order-17"),
        json!(17),
        json!("x".repeat(500)),
    ] {
        let meta = json!({ "jackfield/idempotencyKey": key });
        wire.ask(1, "tools/call", json!({ "name": "write", "_meta": meta }))
            .await;
        assert_eq!(text(&wire.hear().await), "done");
    }
    let keys: Vec<String> = tools.runs().iter().map(|run| run.key.to_string()).collect();
    assert_eq!(keys[..2], ["order-17", "order-17"]);
    assert!(
        keys[2] != keys[3] && !keys[2..].contains(&"order-17".to_owned()),
        "{keys:?}"
    );
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_an_error_that_names_those_that_are() {
    let mut wire = Wire::to(server(&reading(ScriptedCall::text("done"))));
    for name in ["raed", "", "read\u{0}", &"x".repeat(10_000)] {
        wire.call(1, name, json!({})).await;
        let answer = wire.hear().await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let told = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(
            told.ends_with("there are: read") && told.len() < 500,
            "{told}"
        );
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_an_outcome_that_says_what_is_wrong() {
    let tools = toolbox("ours");
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"],
        "additionalProperties": false,
    });
    tools.spec(ToolSpec {
        description: "Reads.".into(),
        icon: None,
        input: InputFormat::Json(Arc::new(schema)),
        name: "read".into(),
        output: None,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: None,
    });
    let mut wire = Wire::to(server(&tools));
    for arguments in [
        json!({}),
        json!({ "path": 7 }),
        json!({ "path": "a", "b": 1 }),
    ] {
        wire.call(1, "read", arguments.clone()).await;
        let answer = wire.hear().await;
        assert_eq!(answer["result"]["isError"], true, "{arguments}: {answer}");
        assert!(text(&answer).contains("Correct the arguments"), "{answer}");
    }
    assert!(tools.runs().is_empty());
}

#[tokio::test]
async fn whatever_goes_wrong_with_a_tool_is_an_outcome() {
    let unavailable = ToolFailure::not_sent(ToolFailureKind::Unavailable, "it is down");
    for (call, told) in [
        (
            ScriptedCall::result(ToolResult::error("no such file")),
            "no such file",
        ),
        (ScriptedCall::failure(unavailable), "it is down"),
        (ScriptedCall::panicking(), "the tool crashed"),
    ] {
        let mut wire = Wire::to(server(&reading(call)));
        wire.call(1, "read", json!({})).await;
        let answer = wire.hear().await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains(told), "{answer}");
        wire.lives().await;
    }
}

#[tokio::test]
async fn a_server_that_is_dropped_aborts_its_calls() {
    let gate = Gate::new();
    let tools = reading(ScriptedCall::text("done").held_at(&gate));
    let mut wire = Wire::to(server(&tools));
    wire.call(1, "read", json!({})).await;
    gate.reached().await;
    wire.drop_server();
    assert_eq!(ending(&tools).await, Ending::Dropped);
}
