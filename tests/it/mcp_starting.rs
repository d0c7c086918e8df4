//! Servers that take long to start, or never do: what is ready is offered.

use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, McpServer, jackfield, kept};

const MODEL: &str = "claude-sonnet-5";

/// The configuration of a short wait.
const SHORT: &str = "mcp.start_wait = \"50ms\"\n";

/// This server, started only when this file is there.
fn waiting_for(server: &McpServer, file: &std::path::Path) -> Value {
    let mut entry = server.trusted();
    let line = format!(
        "while [ ! -e '{}' ]; do sleep 0.01; done; exec \"$0\" \"$1\"",
        file.display()
    );
    let program = entry["command"].take();
    let script = entry["args"][0].take();
    entry["command"] = json!("sh");
    entry["args"] = json!(["-c", line, program, script]);
    entry
}

#[tokio::test]
async fn a_turn_begins_without_a_server_that_hangs_and_says_so() {
    let hanging = McpServer::new(json!({ "hang": true }));
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let ask = jackfield(["ask", "Hello"]).at_with(&claude.base_url(), SHORT);
    let ran = ask.servers([("box", hanging.entry())]).run().await;
    ran.answers("Hello.\n");
    ran.says("the server `box` has not listed its tools within 0.05 s");
    ran.says("raise `start_wait` under [mcp]");
    kept(&claude);
    hanging.kept_and_gone().await;
}

#[tokio::test]
async fn a_list_shows_a_server_that_is_starting_and_a_call_by_hand_waits_for_its_own_alone() {
    let hanging = McpServer::new(json!({ "hang": true }));
    let good = McpServer::of("read", &json!([{ "text": "the text" }]));
    let servers = || [("box", hanging.entry()), ("good", good.entry())];
    let ran = jackfield(["mcp", "list", "--json"])
        .configured("mcp.start_wait = \"1s\"")
        .servers([("box", hanging.entry())])
        .run()
        .await;
    let list: Value = serde_json::from_str(&ran.out).expect("a list");
    assert_eq!((ran.code, &list[0]["state"]), (Some(0), &json!("starting")));
    let problem = list[0]["problems"][0].as_str().unwrap_or_default();
    assert!(
        problem.contains("`jackfield mcp test box` waits longer"),
        "{problem}"
    );
    let call = jackfield(["tools", "call", "good__read"]).configured("mcp.start_wait = \"3s\"");
    let ran = call.servers(servers()).run().await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "the text\n"));
    ran.says("the server `box` has not listed its tools within 3 s");
}

#[tokio::test]
async fn a_call_by_hand_waits_once_for_a_server_that_is_slow() {
    let good = McpServer::of("read", &json!([{ "text": "the text" }]));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("go");
    let call = jackfield(["tools", "call", "good__read"]).configured(SHORT);
    let call = call.servers([("good", waiting_for(&good, &file))]).start();
    std::fs::write(&file, "").expect("the folder can be written");
    let ran = call.end().await;
    ran.answers("the text\n");
    assert_eq!(good.count("start "), 1);
}

#[tokio::test]
async fn the_gateway_answers_without_a_server_and_with_it_when_it_is_ready() {
    let good = McpServer::of("read", &json!([{ "text": "the text" }]));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("go");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let sessions = Kept::new();
    let serve = sessions.gateway().at_with(&claude.base_url(), SHORT);
    let serve = serve.servers([("box", waiting_for(&good, &file))]);
    let gateway = Gateway::listening(serve.start()).await;
    let body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": "hi" }] });
    let notes = |answer: &crate::harness::Answer| answer.header("x-jackfield-notes").to_owned();
    // A request that wants none of its tools does not start it.
    let asking = gateway.post("/v1/chat/completions", &body);
    let answer = asking
        .header("x-jackfield-tools", "builtin/*")
        .answered()
        .await;
    answer.is(200);
    assert!(
        !notes(&answer).contains("tools_missing"),
        "{}",
        notes(&answer)
    );
    let asking = gateway.post("/v1/chat/completions", &body);
    let answer = asking.header("x-jackfield-tools", "all").answered().await;
    answer.is(200);
    let said = notes(&answer);
    assert!(
        said.contains("\"tools.box\"") && said.contains("\"tools_missing\""),
        "{said}"
    );
    std::fs::write(&file, "").expect("the folder can be written");
    good.until("start ").await;
    let offered = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let asking = gateway.post("/v1/chat/completions", &body);
            let answer = asking.header("x-jackfield-tools", "all").answered().await;
            answer.is(200);
            if !notes(&answer).contains("tools_missing") {
                break claude.requests().pop().unwrap_or_default()["tools"].to_string();
            }
        }
    });
    let offered = offered.await.expect("it is ready in the end");
    assert!(offered.contains("box__read"), "{offered}");
    assert_eq!(good.count("start "), 1);
    gateway.end().await;
}
