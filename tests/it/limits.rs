//! A model that never stops calling.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{jackfield, kept};

#[tokio::test]
async fn s1_08_on_limit_answer_ends_with_an_answer_of_what_is_known() {
    let claude = ScriptedClaude::start(calls_while_it_may()).await;
    let limits = "limits.rounds = 5\nlimits.on_limit = \"answer\"";
    let ask = jackfield(["ask", "count"]).at_with(&claude.base_url(), limits);
    let ran = ask.run().await;
    ran.answers("So far it is 4.\n");
    ran.says("the turn had all its rounds: one last round without tools");
    ran.says("5 rounds · 4 calls");
    let requests = claude.requests();
    assert_eq!(requests.len(), 5);
    let choices: Vec<bool> = requests.iter().map(may_call).collect();
    assert_eq!(choices, [true, true, true, true, false]);
    kept(&claude);
}

#[tokio::test]
async fn the_longest_times_are_times_like_others() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("It is 2."),
    ])
    .await;
    let names = [
        "budget.active",
        "limits.approval",
        "limits.client_tool",
        "limits.model_idle",
        "limits.retry_after",
        "limits.tool_call",
        "network.connect_timeout",
    ];
    let endless: String = names
        .iter()
        .map(|name| format!("{name} = \"100years\"\n"))
        .collect();
    let ask = jackfield(["ask", "1+1?"]).at_with(&claude.base_url(), &endless);
    ask.run().await.answers("It is 2.\n");
    kept(&claude);
}

#[tokio::test]
async fn s1_08_on_limit_error_ends_with_an_error_that_names_the_limit() {
    let claude = ScriptedClaude::start(calls_while_it_may()).await;
    let limits = "limits.rounds = 3\nlimits.on_limit = \"error\"";
    let ask = jackfield(["ask", "--json", "count"]).at_with(&claude.base_url(), limits);
    let ran = ask.run().await;
    let help = "raise `rounds` under [limits], or --max-rounds, or set `on_limit = \"answer\"`";
    ran.fails(5, "the turn had all its rounds", help);
    let requests = claude.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(may_call));
    let last = ran.last_event();
    let limited = json!({ "kind": "limited", "limit": "rounds", "is_error": true });
    assert_eq!(last["end"], limited);
    // No work is thrown away, and the call that nobody would have read was not run.
    let calls = last["calls"].as_array().cloned().unwrap_or_default();
    let statuses: Vec<&Value> = calls.iter().map(|call| &call["status"]).collect();
    assert_eq!(statuses, ["done", "done", "not_run"]);
    kept(&claude);
}

#[tokio::test]
async fn s1_08_without_a_setting_there_are_ten_rounds() {
    let claude = ScriptedClaude::start(calls_while_it_may()).await;
    let ran = jackfield(["ask", "count"])
        .at(&claude.base_url())
        .run()
        .await;
    ran.answers("So far it is 9.\n");
    assert_eq!(claude.requests().len(), 10);
    kept(&claude);
}

#[tokio::test]
async fn s1_08_a_model_that_calls_even_in_its_last_round_is_stopped() {
    let claude = ScriptedClaude::start(Script::by(|asked| {
        Some(ScriptTurn::text("Wait. ").and_call("calculator", &expression(asked.nth)))
    }))
    .await;
    let ask = jackfield(["ask", "--max-rounds", "2", "--json", "count"]).at(&claude.base_url());
    let ran = ask.run().await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(claude.requests().len(), 2);
    let last = ran.last_event();
    let limited = json!({ "kind": "limited", "limit": "rounds", "is_error": false });
    assert_eq!(last["end"], limited);
    assert_eq!(last["calls"][1]["status"], "not_run");
    kept(&claude);
}

#[tokio::test]
async fn s1_08_a_limit_without_any_answer_is_a_failure_for_scripts() {
    let claude = ScriptedClaude::start(Script::by(|asked| {
        Some(ScriptTurn::call("calculator", &expression(asked.nth)))
    }))
    .await;
    let ask = jackfield(["ask", "--max-rounds", "2", "count"]).at(&claude.base_url());
    let ran = ask.run().await;
    ran.fails(5, "the model gave no answer", "raise `rounds`");
    assert_eq!(ran.out, "");
    kept(&claude);
}

#[tokio::test]
async fn s1_08_the_same_call_with_the_same_outcome_is_no_progress() {
    let claude = ScriptedClaude::start(Script::by(|asked| {
        Some(if may_call(asked.body) {
            ScriptTurn::call("calculator", &json!({ "expression": "1+1" }))
        } else {
            ScriptTurn::text("It stays 2.")
        })
    }))
    .await;
    let ran = jackfield(["ask", "again"])
        .at(&claude.base_url())
        .run()
        .await;
    ran.answers("It stays 2.\n");
    ran.says("the same call had the same outcome again and again");
    assert_eq!(claude.requests().len(), 4);
    kept(&claude);
}

/// A model that always calls, unless it is forbidden.
fn calls_while_it_may() -> Script {
    Script::by(|asked| {
        Some(if may_call(asked.body) {
            ScriptTurn::call("calculator", &expression(asked.nth))
        } else {
            ScriptTurn::text(format!("So far it is {}.", asked.nth))
        })
    })
}

/// Another one each time.
fn expression(nth: usize) -> Value {
    json!({ "expression": format!("{nth} + 1") })
}

/// Whether a request lets the model call.
fn may_call(request: &Value) -> bool {
    request["tool_choice"]["type"] != "none"
}
