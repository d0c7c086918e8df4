//! Ask, and tools answer.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{jackfield, kept, shell, without_cache_points};

#[tokio::test]
async fn s1_01_hello_calls_no_tool_and_the_model_just_answers() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello! How can I help?")]).await;
    let ask = jackfield(["ask", "Hello"]).at(&claude.base_url());
    let ran = ask.run().await;
    ran.answers("Hello! How can I help?\n");
    ran.says("1 round · 0 calls");
    let requests = claude.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        without_cache_points(requests[0]["messages"].clone()),
        json!([{ "role": "user", "content": [{ "type": "text", "text": "Hello" }] }])
    );
    kept(&claude);
}

#[tokio::test]
async fn s1_06_a_tool_that_does_not_exist_is_an_outcome_and_the_turn_goes_on() {
    let answer = "I cannot see the weather here, but I can calculate.";
    let claude = ScriptedClaude::start([
        ScriptTurn::call("get_weather", &json!({ "location": "London" })),
        ScriptTurn::text(answer).when("There is no tool named `get_weather`"),
    ])
    .await;
    let ask = jackfield(["ask", "What is the weather in London?"]).at(&claude.base_url());
    let ran = ask.run().await;
    ran.answers(&format!("{answer}\n"));
    ran.says("get_weather(location: \"London\")\n");
    ran.says("get_weather · not run · There is no tool named `get_weather`");
    let requests = claude.requests();
    let outcome = &requests[1]["messages"][2]["content"][0];
    assert_eq!(outcome["is_error"], true);
    let told = text_of(outcome);
    assert!(
        told.contains("The tools are: calculator, current_datetime."),
        "{told}"
    );
    kept(&claude);
}

#[tokio::test]
async fn s1_07_a_tool_that_fails_stops_no_other() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1/0" }))
            .and_call("calculator", &json!({ "expression": "2+2" })),
        ScriptTurn::text("One cannot divide by zero; two and two is 4."),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "1/0 and 2+2?"]).at(&claude.base_url());
    let ran = ask.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    let statuses = [&calls[0]["status"], &calls[1]["status"]];
    assert_eq!(statuses, ["failed", "done"]);
    assert_eq!(calls[1]["result"], "4");
    let requests = claude.requests();
    let outcomes = &requests[1]["messages"][2]["content"];
    assert_eq!(outcomes[0]["is_error"], true);
    assert_ne!(outcomes[1]["is_error"], true);
    kept(&claude);
}

#[tokio::test]
async fn s1_09_text_before_a_call_stays_in_its_place_between_the_blocks() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("First I need the sum.")
            .and_call("calculator", &json!({ "expression": "19+23" }))
            .and(ScriptPart::Text("Then I need the time.".to_owned()))
            .and_call("current_datetime", &json!({ "timezone": "UTC" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    // Both streams go to one place, as they do on a terminal.
    let ask = shell("exec \"$jackfield\" ask '19+23, and the time?' 2>&1");
    let ran = ask.at(&claude.base_url()).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let places = [
        "First I need the sum.",
        "calculator(expression: \"19+23\")",
        "Then I need the time.",
        "current_datetime(timezone: \"UTC\")",
        "calculator · done",
        "It is 42.",
    ];
    let places = places.map(|text| ran.out.find(text));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?}\n{}",
        ran.out
    );
    let requests = claude.requests();
    let said = requests[1]["messages"][1]["content"].as_array().cloned();
    let kinds: Vec<Value> = said.iter().flatten().map(|b| b["type"].clone()).collect();
    assert_eq!(kinds, ["text", "tool_use", "text", "tool_use"]);
    kept(&claude);
}

#[tokio::test]
async fn s1_09_the_answer_on_standard_output_has_every_text_in_order() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("First I need the sum.")
            .and_call("calculator", &json!({ "expression": "19+23" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let ask = jackfield(["ask", "19+23?"]).at(&claude.base_url());
    ask.run()
        .await
        .answers("First I need the sum.\n\nIt is 42.\n");
    kept(&claude);
}

#[tokio::test]
async fn s1_10_without_tools_the_turn_runs_and_none_are_sent() {
    let claude = ScriptedClaude::start([ScriptTurn::text("About 42.")]).await;
    let ask = jackfield(["ask", "--no-tools", "--json", "19+23?"]).at(&claude.base_url());
    let ran = ask.run().await;
    let events = ran.events();
    let started = |event: &&Value| event["event"] == "turn_started";
    let tools: Vec<&Value> = events.iter().filter(started).map(|e| &e["tools"]).collect();
    // It is said once.
    assert_eq!(tools, [&json!([])]);
    assert_eq!(ran.last_event()["answer"], "About 42.");
    let request = &claude.requests()[0];
    assert_eq!(
        (request.get("tools"), request.get("tool_choice")),
        (None, None)
    );
    kept(&claude);
}

#[tokio::test]
async fn s1_10_a_model_without_tools_is_sent_none_and_that_is_said_once() {
    let claude = ScriptedClaude::start([ScriptTurn::text("About 42.")]).await;
    let without = "providers.claude.tools = false";
    let ask = jackfield(["ask", "19+23?"]).at_with(&claude.base_url(), without);
    let ran = ask.run().await;
    ran.answers("About 42.\n");
    let said = ran.err.matches("this model calls no tools").count();
    assert_eq!(said, 1, "{}", ran.err);
    assert_eq!(claude.requests()[0].get("tools"), None);
    kept(&claude);
}

#[tokio::test]
async fn s1_10_a_model_that_calls_although_there_are_no_tools_is_told_so() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "19+23" })),
        ScriptTurn::text("About 42.").when("No tools are available"),
    ])
    .await;
    let ask = jackfield(["ask", "--no-tools", "19+23?"]).at(&claude.base_url());
    let ran = ask.run().await;
    ran.answers("About 42.\n");
    ran.says("calculator · not run");
    kept(&claude);
}

#[tokio::test]
async fn s1_12_the_answer_comes_with_the_list_of_its_calls() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "15% of 2500" }))
            .and_call("current_datetime", &json!({ "timezone": "Nowhere/City" })),
        ScriptTurn::text("It is 375; I do not know the time."),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "15% of 2500, and the time?"]).at(&claude.base_url());
    let ran = ask.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let last = ran.last_event();
    let calls = last["calls"].as_array().cloned().unwrap_or_default();
    let brief: Vec<Value> = calls
        .iter()
        .map(|call| {
            assert!(call["duration_ms"].is_u64(), "{call}");
            json!([
                call["name"],
                call["toolbox"],
                call["arguments"],
                call["status"],
                call["is_error"]
            ])
        })
        .collect();
    let expected = [
        json!(["calculator", "builtin", { "expression": "15% of 2500" }, "done", false]),
        json!(["current_datetime", "builtin", { "timezone": "Nowhere/City" }, "failed", true]),
    ];
    assert_eq!(brief, expected);
    assert_eq!(calls[0]["result"], "375");
    let fault = calls[1]["result"].as_str().unwrap_or_default();
    assert!(fault.contains("Nowhere/City"), "{fault}");
    assert_eq!(last["answer"], "It is 375; I do not know the time.");
    kept(&claude);
}

#[tokio::test]
async fn parallel_calls_are_one_round_and_go_back_in_call_order() {
    let expressions = ["2^20000 mod 7", "1+1", "2+2", "3+3", "4+4"];
    let turn = expressions
        .iter()
        .fold(ScriptTurn::reply([]), |turn, expression| {
            turn.and_call("calculator", &json!({ "expression": expression }))
        });
    let claude = ScriptedClaude::start([turn, ScriptTurn::text("Done.")]).await;
    let ask = jackfield(["ask", "--json", "calculate"]).at(&claude.base_url());
    let ran = ask.run().await;
    let requests = claude.requests();
    assert_eq!(requests.len(), 2, "all calls are of one round");
    let ids = |message: usize, field: &str| {
        let blocks = requests[1]["messages"][message]["content"].as_array();
        let ids = blocks.into_iter().flatten().map(|b| b[field].clone());
        ids.collect::<Vec<Value>>()
    };
    assert_eq!(ids(1, "id").len(), expressions.len());
    assert_eq!(ids(1, "id"), ids(2, "tool_use_id"));
    // All of them were started before the first one had finished.
    let events = ran.events();
    let kinds = events.iter().filter_map(|event| event["event"].as_str());
    let tools: Vec<&str> = kinds.filter(|kind| kind.starts_with("tool_")).collect();
    let started = tools.iter().rposition(|kind| *kind == "tool_started");
    let finished = tools.iter().position(|kind| *kind == "tool_finished");
    assert!(started.is_some() && started < finished, "{tools:?}");
    kept(&claude);
}

/// The text of a tool's outcome on the wire.
fn text_of(outcome: &Value) -> String {
    let content = &outcome["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str());
    text.unwrap_or_default().to_owned()
}
