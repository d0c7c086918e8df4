//! `jackfield mcp serve`, as other programs start it, and the demo, which does.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{MAX_SHUTDOWN_TIME, McpServer, Ran, Running, jackfield, kept, tool};

/// A line of the older era.
fn legacy(id: u32, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A line of the newer era.
fn modern(id: u32, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "slice", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    legacy(id, method, params)
}

fn hello(id: u32) -> String {
    let client = json!({ "name": "slice", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    legacy(id, "initialize", params)
}

/// Says a line, and waits for the answer of this id.
async fn ask(serving: &mut Running, line: &str) {
    let id = serde_json::from_str::<Value>(line).expect("JSON")["id"].clone();
    serving.say(line).await;
    serving.out.until(&format!("\"id\":{id},")).await;
}

/// It ended as it should, and said nothing but the protocol; its messages.
#[track_caller]
fn messages(ran: &Ran) -> Vec<Value> {
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let messages = ran.out.lines().map(serde_json::from_str);
    messages
        .collect::<Result<_, _>>()
        .expect("each line is JSON")
}

#[tokio::test]
async fn it_speaks_with_a_handshake_and_garbage_does_not_end_it() {
    let mut serving = jackfield(["mcp", "serve"]).held().start();
    ask(&mut serving, &hello(1)).await;
    serving.say("this is no message").await;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    serving.say(&initialized.to_string()).await;
    ask(&mut serving, &legacy(2, "tools/list", json!({}))).await;
    let call = json!({ "name": "calculator", "arguments": { "expression": "15% of 2500" } });
    ask(&mut serving, &legacy(3, "tools/call", call)).await;
    serving.hang_up();
    let said = messages(&serving.end().await);
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(said[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(said[1]["error"]["code"], -32700);
    let names = [0, 1].map(|nth| said[2]["result"]["tools"][nth]["name"].clone());
    assert_eq!(names, ["calculator", "current_datetime"]);
    let hints = &said[2]["result"]["tools"][0]["annotations"];
    assert_eq!(
        (&hints["readOnlyHint"], &hints["title"]),
        (&json!(true), &json!("Calculator"))
    );
    let outcome = &said[3]["result"];
    assert_eq!(
        outcome["content"],
        json!([{ "type": "text", "text": "375" }])
    );
    assert_eq!(outcome["structuredContent"]["result"], "375");
}

#[tokio::test]
async fn it_speaks_without_a_handshake_and_wrong_arguments_are_an_outcome() {
    let mut serving = jackfield(["mcp", "serve"]).held().start();
    ask(&mut serving, &modern(1, "server/discover", json!({}))).await;
    ask(&mut serving, &modern(2, "tools/list", json!({}))).await;
    let wrong = json!({ "name": "calculator", "arguments": { "expr": "1 + 1" } });
    ask(&mut serving, &modern(3, "tools/call", wrong)).await;
    ask(
        &mut serving,
        &modern(4, "tools/call", json!({ "name": "calc" })),
    )
    .await;
    serving.hang_up();
    let said = messages(&serving.end().await);
    assert_eq!(said[0]["result"]["resultType"], "complete");
    assert_eq!(said[1]["result"]["tools"].as_array().map(Vec::len), Some(2));
    let outcome = &said[2]["result"];
    assert_eq!(outcome["isError"], true);
    let told = outcome["content"][0]["text"].as_str().unwrap_or_default();
    assert!(told.contains("expression"), "{told}");
    assert_eq!(said[3]["error"]["code"], -32602);
}

#[tokio::test]
async fn a_model_calls_its_tools_like_those_of_any_server() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("mine__calculator", &json!({ "expression": "6 * 7" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let ran = jackfield(["ask", "--json", "What is 6 * 7?"])
        .at(&claude.base_url())
        .serving("mine", ["mcp", "serve"])
        .run()
        .await;
    let call = ran.last_event()["calls"][0].clone();
    assert_eq!(
        (&call["status"], &call["result"]),
        (&json!("done"), &json!("42"))
    );
    assert_eq!(call["toolbox"], "mine");
    assert_eq!(call["structured"]["exact"], true);
    kept(&claude);
}

#[tokio::test]
async fn it_passes_the_test_that_it_gives_others() {
    let ran = jackfield(["mcp", "test", "--json"])
        .serving("mine", ["mcp", "serve", "--no-config"])
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let tested: Value = serde_json::from_str(&ran.out).expect("JSON");
    let mine = &tested[0];
    assert_eq!(
        (&mine["state"], &mine["stateless"]),
        (&json!("ready"), &json!(true))
    );
    assert_eq!(mine["tools"], json!(["calculator", "current_datetime"]));
    assert_eq!(mine["problems"], json!([]));
}

#[tokio::test]
async fn other_tools_are_offered_by_pattern_if_they_may_run_without_asking() {
    let tools = json!([tool("read"), { "name": "write", "inputSchema": { "type": "object" } }]);
    let files = McpServer::new(json!({ "tools": tools, "calls": { "read": [{ "text": "abc" }] } }));
    let serve = jackfield(["mcp", "serve", "--tools", "files/*", "builtin/calculator"]).held();
    let mut serving = serve.servers([("files", files.trusted())]).start();
    ask(&mut serving, &modern(1, "tools/list", json!({}))).await;
    ask(
        &mut serving,
        &modern(2, "tools/call", json!({ "name": "files__read" })),
    )
    .await;
    ask(
        &mut serving,
        &modern(3, "tools/call", json!({ "name": "files__write" })),
    )
    .await;
    serving.err.until("`files__write` is not offered").await;
    serving.hang_up();
    let ran = serving.end().await;
    ran.says("`files__write` is not offered");
    ran.says("\"files/write\" = \"allow\"");
    let said: Vec<Value> = ran
        .out
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let listed = said[0]["result"]["tools"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let names: Vec<&Value> = listed.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["calculator", "files__read"]);
    assert_eq!(said[1]["result"]["content"][0]["text"], "abc");
    assert_eq!(said[2]["error"]["code"], -32602);
    assert_eq!(
        (files.count("call read"), files.count("call write")),
        (1, 0)
    );
    files.kept_and_gone().await;
}

#[tokio::test]
async fn a_server_of_which_nothing_is_offered_is_not_started() {
    let files = McpServer::new(json!({ "tools": [tool("read")] }));
    let serve = jackfield(["mcp", "serve"]).held();
    let mut serving = serve.servers([("files", files.trusted())]).start();
    ask(&mut serving, &modern(1, "tools/list", json!({}))).await;
    serving.hang_up();
    assert_eq!(messages(&serving.end().await).len(), 1);
    assert_eq!(files.count("start "), 0);
}

/// Calls a tool that never ends, ends the server like this, and finds that nothing is left.
async fn check_end(end: impl FnOnce(&mut Running)) {
    let slow = McpServer::new(json!({
        "tools": [tool("think")], "calls": { "think": [{ "wait": true }] }, "stays": true,
    }));
    let serve = jackfield(["mcp", "serve", "--tools", "slow/*"]).held();
    let mut serving = serve.servers([("slow", slow.trusted())]).start();
    serving
        .say(&modern(1, "tools/call", json!({ "name": "slow__think" })))
        .await;
    slow.until("call think").await;
    end(&mut serving);
    let ran = serving.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    slow.kept_and_gone().await;
    // The thread of its call may not get to log that before the server ends.
    assert_eq!(slow.count("said notifications/cancelled"), 1);
}

#[tokio::test]
async fn it_ends_with_its_input_and_takes_the_call_under_way_along() {
    check_end(Running::hang_up).await;
}

#[tokio::test]
async fn it_ends_when_it_is_asked_to_and_takes_the_call_under_way_along() {
    check_end(|serving| serving.terminate()).await;
}

#[tokio::test]
async fn it_ends_with_ctrl_c_and_takes_the_call_under_way_along() {
    check_end(|serving| serving.interrupt()).await;
}

#[tokio::test]
async fn a_wrong_configuration_stops_it_unless_it_reads_none() {
    let wrong = "this is = = no TOML";
    let ran = jackfield(["mcp", "serve"]).configured(wrong).run().await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""));
    let ran = jackfield(["mcp", "serve", "--no-config"]).configured(wrong);
    assert!(messages(&ran.run().await).is_empty());
}

#[tokio::test]
async fn s1_11_the_demos_tools_come_over_mcp_and_nothing_is_read_written_or_left() {
    let places = tempfile::tempdir().expect("a folder can be made");
    let mut demo = jackfield(["demo", "--json"]).configured("this is = = no TOML");
    for variable in ["HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        demo = demo.env(variable, places.path());
    }
    let ran = demo.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    for nth in [0, 1] {
        assert_eq!(calls[nth]["toolbox"], "demo-tools", "{calls}");
        assert_eq!(calls[nth]["status"], "done", "{calls}");
    }
    let written: Vec<_> = fs::read_dir(places.path()).into_iter().flatten().collect();
    assert!(written.is_empty(), "{written:?}");
    // Whatever it started had this home.
    let gone = tokio::time::timeout(MAX_SHUTDOWN_TIME, async {
        while lives_in(places.path()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(gone.await.is_ok(), "a process of the demo stays");
}

#[tokio::test]
async fn the_demos_tools_have_the_icons_that_they_have_at_home() {
    let ran = jackfield(["demo", "What is 15% of 2500?"]).run().await;
    ran.says("🧮 calculator(");
}

/// Whether there is a process with this home.
fn lives_in(home: &Path) -> bool {
    let wanted = format!("HOME={}", home.display()).into_bytes();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut environments =
        processes.filter_map(|process| fs::read(process.path().join("environ")).ok());
    environments.any(|environment| {
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == wanted)
    })
}
