//! Questions whether a tool of its own may be used: each is a call in a reply, and its outcome the answer.

use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::message::Message;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::own_tool;
use jackfield_domain::price::Money;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use jackfield_provider_claude_code::ClaudeCode;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Talk, World};

const BASH: &str = "claude-code__Bash";

fn bash(command: &str) -> ScriptTurn {
    ScriptTurn::call("Bash", &json!({ "command": command }))
}

/// A model that asks for permissions in this mode.
fn asking(world: &World, mode: &str) -> ClaudeCode {
    let mut config = world.config(mode);
    config.builtin_tools = vec!["Bash".to_owned()];
    ClaudeCode::new(config)
}

/// The calls of a reply that the loop makes: names and arguments.
fn calls(message: &Message) -> Vec<(&str, Value)> {
    let calls = message
        .calls()
        .filter(|call| call.ran_by != RanBy::Provider);
    calls
        .map(|call| {
            let ToolInput::Json(input) = &call.input else {
                panic!("{call:?}");
            };
            let fields = input.object().unwrap().as_ref().clone();
            (call.name.as_str(), Value::Object(fields))
        })
        .collect()
}

/// What a message shows of results of tools of its own.
fn shown_results(message: &Message) -> Vec<&str> {
    let blocks = message.blocks.iter();
    let shown = blocks.filter_map(|block| match &block.content {
        Content::Opaque(opaque) if &*opaque.kind == "tool_result" => opaque.fallback.as_deref(),
        _ => None,
    });
    shown.collect()
}

fn allowed(arguments: &Value) -> ToolResult {
    let fields = arguments.as_object().unwrap().clone();
    own_tool::allowed(&ToolInput::Json(JsonInput::from(fields)))
}

/// The last result that the model got.
fn last_result(world: &World) -> Value {
    let requests = world.server.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap();
    messages.last().unwrap()["content"][0].clone()
}

#[tokio::test]
async fn a_question_is_a_call_and_its_outcome_is_the_answer() {
    let asked = json!({ "command": "ls" });
    let edited = json!({ "command": "ls -l" });
    for (answer, runs, result, is_error) in [
        (
            allowed(&asked),
            vec!["Bash {\"command\":\"ls\"}"],
            "Bash ran with {\"command\":\"ls\"}",
            Value::Null,
        ),
        (
            allowed(&edited),
            vec!["Bash {\"command\":\"ls -l\"}"],
            "Bash ran with {\"command\":\"ls -l\"}",
            Value::Null,
        ),
        (
            ToolResult::error("not today"),
            vec![],
            "`Bash` is denied: not today",
            json!(true),
        ),
    ] {
        let world = World::new([bash("ls"), ScriptTurn::text("Done.")]).await;
        let model = asking(&world, "asks-permission");
        let mut talk = Talk::new("List!");
        let end = talk.go_on(&model).await;
        assert_eq!(end.finish, FinishReason::ToolCalls);
        assert_eq!(calls(talk.last()), [(BASH, asked.clone())]);
        assert_eq!(world.runs(), [""; 0]);
        talk.results([answer]);
        let end = talk.go_on(&model).await;
        assert_eq!(end.finish, FinishReason::Stop);
        assert_eq!(world.runs(), runs);
        // Its result is in the record, although the call was part of the reply before.
        assert_eq!(shown_results(talk.last()), [result]);
        let told = last_result(&world);
        assert_eq!(told["content"], result);
        assert_eq!(told["is_error"], is_error);
        assert_eq!(world.starts().len(), 1);
        world.all_ended().await;
    }
}

#[tokio::test]
async fn questions_of_one_message_are_asked_one_after_another_beside_calls_of_ours() {
    let first = bash("one")
        .and_call("mcp__gateway__add", &json!({ "a": 1 }))
        .and_call("Bash", &json!({ "command": "two" }));
    let world = World::new([first, ScriptTurn::text("Done.")]).await;
    let model = asking(&world, "asks-permission");
    let mut talk = Talk::new("Do it all!");
    talk.go_on(&model).await;
    assert_eq!(calls(talk.last()), [("add", json!({ "a": 1 }))]);
    talk.results([ToolResult::text("2")]);
    for command in ["one", "two"] {
        let end = talk.go_on(&model).await;
        let arguments = json!({ "command": command });
        assert_eq!(calls(talk.last()), [(BASH, arguments.clone())]);
        // No model was asked for this reply, which is not the last one.
        let nothing = Usage {
            billed: Some(Money::ZERO),
            ..Usage::default()
        };
        assert_eq!(end.usage, Some(nothing));
        talk.results([allowed(&arguments)]);
    }
    let end = talk.go_on(&model).await;
    assert_eq!(end.finish, FinishReason::Stop);
    assert_eq!(
        world.runs(),
        ["Bash {\"command\":\"one\"}", "Bash {\"command\":\"two\"}"]
    );
    let messages = world.server.requests()[1]["messages"].clone();
    let results = messages[2]["content"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(results[1]["content"][0]["text"], "2");
    assert_eq!(world.starts().len(), 1);
}

#[tokio::test]
async fn a_permission_for_a_process_that_is_gone_is_asked_again() {
    let turns = [bash("ls"), bash("ls"), ScriptTurn::text("Done.")];
    let world = World::new(turns).await;
    let model = asking(&world, "asks-permission");
    let mut talk = Talk::new("List!");
    talk.go_on(&model).await;
    world.kill_last().await;
    let arguments = json!({ "command": "ls" });
    talk.results([allowed(&arguments)]);
    talk.go_on(&model).await;
    assert_eq!(world.runs(), [""; 0]);
    assert_eq!(calls(talk.last()), [(BASH, arguments.clone())]);
    let told = last_result(&world);
    assert_eq!(told["is_error"], true);
    let words = told["content"].as_str().unwrap();
    assert!(
        words.contains("it is not known whether the tool ran"),
        "{words}"
    );
    talk.results([allowed(&arguments)]);
    talk.go_on(&model).await;
    assert_eq!(world.runs(), ["Bash {\"command\":\"ls\"}"]);
    assert_eq!(world.starts().len(), 2);
}

#[tokio::test]
async fn a_tool_that_ran_before_its_process_died_is_not_run_again_without_another_permission() {
    let first = ScriptTurn::call("mcp__gateway__add", &json!({ "a": 1 }))
        .and_call("Bash", &json!({ "command": "pay" }));
    let world = World::new([first, bash("pay")]).await;
    let model = asking(&world, "asks-permission-and-dies");
    let mut talk = Talk::new("Pay!");
    talk.go_on(&model).await;
    talk.results([ToolResult::text("2")]);
    talk.go_on(&model).await;
    let arguments = json!({ "command": "pay" });
    talk.results([allowed(&arguments)]);
    talk.ask(&model).await.end.unwrap_err();
    world.all_ended().await;
    // The round is tried again, as the loop does.
    talk.go_on(&model).await;
    assert_eq!(world.runs(), ["Bash {\"command\":\"pay\"}"]);
    assert_eq!(calls(talk.last()), [(BASH, arguments)]);
    // The results of both calls are there, although they came in two rounds.
    let messages = world.server.requests()[1]["messages"].clone();
    let results = messages[2]["content"].as_array().unwrap();
    let told: Vec<(&Value, bool)> = results
        .iter()
        .filter(|block| block["type"] == "tool_result")
        .map(|block| (&block["content"], block["is_error"] == true))
        .collect();
    assert_eq!(told.len(), 2, "{results:?}");
    assert_eq!(told[0], (&json!("2"), false));
    assert!(told[1].1);
    let _one_script_is_left = world.server.violations();
}

#[tokio::test]
async fn a_tool_that_the_configuration_does_not_name_is_denied_at_once() {
    let world = World::new([
        ScriptTurn::call("Write", &json!({})),
        ScriptTurn::text("Denied."),
    ])
    .await;
    let model = asking(&world, "asks-permission");
    let end = Talk::new("Write!").go_on(&model).await;
    assert_eq!(end.finish, FinishReason::Stop);
    let told = last_result(&world);
    assert_eq!(told["is_error"], true);
    let words = told["content"].as_str().unwrap();
    assert!(words.contains("`builtin_tools`"), "{words}");
    assert_eq!(world.runs(), [""; 0]);
}
