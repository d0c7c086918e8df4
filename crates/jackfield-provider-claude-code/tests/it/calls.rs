//! Turns with tools: calls stand in one reply, and results answer them.

use std::time::Duration;

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::price::Money;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::usage::Usage;
use jackfield_provider_claude_code::ClaudeCode;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Talk, World};

pub(crate) fn two_calls() -> ScriptTurn {
    ScriptTurn::text("Let me see.")
        .and_call("mcp__gateway__add", &json!({ "a": 1 }))
        .and_call("mcp__gateway__look", &json!({ "at": "it" }))
}

#[tokio::test]
async fn parallel_calls_stand_in_one_reply_and_the_same_process_gets_their_results() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let model = world.model();
    let mut talk = Talk::new("Add and look!");
    let end = talk.go_on(&model).await;
    assert_eq!(end.finish, FinishReason::ToolCalls);
    assert_eq!(talk.last().to_text(), "Let me see.");
    let calls: Vec<_> = talk.last().calls().map(|call| call.name.as_str()).collect();
    assert_eq!(calls, ["add", "look"]);
    talk.results([ToolResult::text("2"), ToolResult::error("nothing there")]);
    let end = talk.go_on(&model).await;
    assert_eq!(end.finish, FinishReason::Stop);
    assert_eq!(talk.last().to_text(), "Done.");
    assert_eq!(world.starts().len(), 1);
    let messages = &world.server.requests()[1]["messages"];
    let results = messages[2]["content"].as_array().unwrap().iter();
    let results: Vec<(&Value, &Value)> = results
        .map(|result| (&result["content"][0]["text"], &result["is_error"]))
        .collect();
    assert_eq!(
        results,
        [
            (&json!("2"), &Value::Null),
            (&json!("nothing there"), &json!(true))
        ]
    );
    world.all_ended().await;
}

#[tokio::test]
async fn the_usage_of_all_replies_is_that_of_the_result() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let model = world.model();
    let mut talk = Talk::new("Add and look!");
    let mut all = talk.go_on(&model).await.usage.unwrap();
    // Nobody knows yet what it cost.
    assert_eq!(all.billed, None);
    talk.results([ToolResult::text("2"), ToolResult::text("3")]);
    let end = talk.go_on(&model).await;
    all += end.usage.unwrap();
    let one = Usage {
        input: 100,
        output: 20,
        ..Usage::default()
    };
    let mut two = one;
    two += one;
    // The cost comes with the last reply.
    two.billed = Money::parse("0.001").ok();
    assert_eq!(all, two);
    assert_eq!(end.usage.unwrap().billed, two.billed);
}

#[tokio::test]
async fn a_process_that_waits_too_long_ends_and_the_next_round_resumes_it() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let mut config = world.config("");
    config.wait_limit = Duration::ZERO;
    let model = ClaudeCode::new(config);
    let mut talk = Talk::new("Add and look!");
    talk.go_on(&model).await;
    world.all_ended().await;
    talk.results([ToolResult::text("2"), ToolResult::text("3")]);
    let end = talk.go_on(&model).await;
    assert_eq!(end.notes, []);
    check_resumed(&world);
}

#[tokio::test]
async fn the_longest_waiting_process_makes_room() {
    let world = World::new([two_calls(), two_calls(), ScriptTurn::text("Done.")]).await;
    let mut config = world.config("");
    config.max_processes = 1;
    let model = ClaudeCode::new(config);
    let mut first = Talk::new("First!");
    first.go_on(&model).await;
    let mut second = Talk::new("Second!");
    second.go_on(&model).await;
    first.results([ToolResult::text("2"), ToolResult::text("3")]);
    first.go_on(&model).await;
    let starts = world.starts();
    assert_eq!(starts.len(), 3);
    assert_eq!(starts[2]["resume"], starts[0]["session"]);
}

#[tokio::test]
async fn a_process_that_begins_to_wait_makes_room_for_one_that_is_waited_for() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let mut config = world.config("");
    config.max_processes = 1;
    config.process_wait = Duration::from_secs(600);
    let model = ClaudeCode::new(config);
    let (mut first, mut second) = (Talk::new("First!"), Talk::new("Second!"));
    let (calls, done) = tokio::join!(first.go_on(&model), second.go_on(&model));
    assert_eq!(calls.finish, FinishReason::ToolCalls);
    assert_eq!(done.finish, FinishReason::Stop);
    assert_eq!(world.starts().len(), 2);
    world.all_ended().await;
}

#[tokio::test]
async fn a_changed_offer_of_tools_needs_another_process() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let model = world.model();
    let mut talk = Talk::new("Add and look!");
    talk.go_on(&model).await;
    talk.results([ToolResult::text("2"), ToolResult::text("3")]);
    let mut tools = talk.request.tools.to_vec();
    std::sync::Arc::make_mut(&mut tools[0]).description = "Another one.".into();
    talk.request.tools = std::sync::Arc::new(tools);
    talk.go_on(&model).await;
    check_resumed(&world);
    let tool = &world.server.requests()[1]["tools"][0];
    assert_eq!(tool["description"], "Another one.");
}

#[tokio::test]
async fn where_no_tool_may_be_called_a_call_is_refused_and_not_shown() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let model = world.model();
    let mut talk = Talk::new("Answer!");
    talk.request.choice = ToolChoice::Forbidden;
    let end = talk.go_on(&model).await;
    assert_eq!(end.finish, FinishReason::Stop);
    assert_eq!(talk.last().calls().count(), 0);
    assert_eq!(talk.last().to_text(), "Let me see.\n\nDone.");
    let result = &world.server.requests()[1]["messages"][2]["content"][0];
    assert_eq!(result["is_error"], true);
}

/// A second process has resumed the session of the first one, with the results of both calls.
pub(crate) fn check_resumed(world: &World) {
    let starts = world.starts();
    assert_eq!(starts.len(), 2);
    assert_eq!(starts[1]["resume"], starts[0]["session"]);
    let messages = &world.server.requests()[1]["messages"];
    assert_eq!(messages.as_array().unwrap().len(), 3, "{messages}");
    let results = messages[2]["content"].as_array().unwrap();
    let kinds: Vec<&Value> = results.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
    let words: Vec<&Value> = results.iter().map(|block| &block["content"]).collect();
    assert_eq!(words, [&json!("2"), &json!("3"), &Value::Null]);
}
