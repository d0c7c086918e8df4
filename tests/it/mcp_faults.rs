//! What servers do wrong, as whoever is at the terminal sees it: a message, or nothing at all.
//!
//! Each fault has a test of the client, in `tools-mcp`, and one with the real binary:
//!
//! | the server | `tools-mcp` | here |
//! |---|---|---|
//! | exits at once | `faults::a_server_that_ends_at_once_…` | `s2_06_…`, `a_server_that_ends_at_once_is_started_once` |
//! | prints garbage to standard output | `faults::noise_on_standard_output_…`, `mutations` | `s2_06_…`, `nothing_that_a_server_says_…` |
//! | hangs | `faults::a_server_that_never_answers_…` | `s2_06_…` |
//! | floods standard error | `faults::a_flood_on_standard_error_…` | `a_flood_on_standard_error_…` |
//! | dies in the middle of a call | `faults::a_server_that_dies_in_a_call_…` | `s1_06_…` |
//! | answers out of order | `faults::answers_out_of_order_…` | `s1_03_…` |
//! | answers one id twice | `faults::an_answer_that_comes_twice_…` | `an_answer_that_comes_twice_…` |
//! | has a cursor that loops | `lists::a_cursor_that_goes_round_…` | `a_list_without_end_…` |
//! | has 10,000 tools | `lists::of_ten_thousand_tools_…` | `a_list_without_end_…` |
//! | changes a definition between list and call | `faults::a_tool_that_went_away_…`, `gate` | `pins::a_call_is_not_sent_…` |
//! | has names of 200 characters, and with dots | `lists::names_of_any_kind_…` | `names_of_any_kind_…` |
//! | has the same tool as another one | (the engine's) | `s2_02_…` |

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{McpServer, Ran, jackfield, kept, tool};

/// What `tools list --json` says with this server.
async fn listed(server: &McpServer) -> (Vec<String>, Ran) {
    let list = jackfield(["tools", "list", "--json"]).servers([("box", server.entry())]);
    // A busy machine takes its time for thousands of tools.
    let ran = list.configured("[mcp]\nstart_wait = \"60s\"\n").run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let tools: Vec<Value> = serde_json::from_str(&ran.out).expect("a list");
    let names = tools.iter().filter(|tool| tool["toolbox"] == "box");
    let names = names.filter_map(|tool| tool["name"].as_str().map(str::to_owned));
    (names.collect(), ran)
}

#[tokio::test]
async fn a_server_that_ends_at_once_is_started_once() {
    let server = McpServer::new(json!({ "exit": 3 }));
    let test = jackfield(["mcp", "test"]).servers([("early", server.entry())]);
    let ran = test.run().await;
    assert_eq!(ran.code, Some(8), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("it ended with code 3"), "{}", ran.out);
    // Nor is it taken for one that ended of a word that it did not know.
    assert_eq!(server.count("start "), 1);
}

#[tokio::test]
async fn a_flood_on_standard_error_is_neither_shown_nor_waited_for() {
    let server = McpServer::new(json!({
        "flood": 200_000, "tools": [tool("read")], "calls": { "read": [{ "text": "the text" }] },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("box__read", &json!({})),
        ScriptTurn::text("Read.").when("the text"),
    ])
    .await;
    let ask = jackfield(["ask", "Read"]).at(&claude.base_url());
    let ran = ask.servers([("box", server.trusted())]).run().await;
    ran.answers("Read.\n");
    assert!(ran.err.len() < 10_000, "{} bytes", ran.err.len());
    assert!(!ran.err.contains("one of very many"), "{}", ran.err);
    kept(&claude);
    server.kept_and_gone().await;
}

#[tokio::test]
async fn an_answer_that_comes_twice_is_nobody_elses() {
    let server = McpServer::new(json!({
        "tools": [tool("one"), tool("two")],
        "calls": { "one": [{ "twice": "first" }], "two": [{ "text": "second" }] },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("box__one", &json!({})),
        ScriptTurn::call("box__two", &json!({})).when("first"),
        ScriptTurn::text("Done.").when("second"),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "Both"]).at(&claude.base_url());
    let ran = ask.servers([("box", server.trusted())]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    assert_eq!(
        [&calls[0]["result"], &calls[1]["result"]],
        ["first", "second"]
    );
    kept(&claude);
    server.kept_and_gone().await;
}

#[tokio::test]
async fn a_list_without_end_is_cut_and_it_is_said() {
    let looping = McpServer::new(json!({ "tools": [tool("one")], "loop_cursor": true }));
    let (names, ran) = listed(&looping).await;
    assert_eq!(names, ["box__one"]);
    ran.says("circle");
    looping.kept_and_gone().await;
    let many = McpServer::new(json!({ "many": 5_000, "page": 1000 }));
    let (names, ran) = listed(&many).await;
    assert_eq!(names.len(), 4096);
    ran.says("more than 4096");
    many.kept_and_gone().await;
}

#[tokio::test]
async fn names_of_any_kind_are_shown_as_models_take_them_and_called_as_they_are() {
    let (long, longer) = ("n".repeat(200), format!("{}m", "n".repeat(199)));
    let names = ["files.read", "files_read", &long, &longer];
    let mut calls = json!({});
    for name in names {
        calls[name] = json!([{ "text": format!("by {name}") }]);
    }
    let tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
    let server = McpServer::new(json!({ "tools": tools, "calls": calls }));
    let (shown, _) = listed(&server).await;
    assert_eq!(shown.len(), names.len(), "{shown:?}");
    for name in &shown {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(name.len() <= 64 && name.chars().all(fits), "{name}");
    }
    let mut said = Vec::new();
    for name in &shown {
        let call = jackfield(["tools", "call", name]).servers([("box", server.entry())]);
        let ran = call.run().await;
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        said.push(ran.out.trim().to_owned());
    }
    said.sort();
    let mut wanted = names.map(|name| format!("by {name}"));
    wanted.sort();
    assert_eq!(said, wanted);
    server.kept_and_gone().await;
}

/// Lines that are no protocol, or hardly, before a good answer.
#[tokio::test]
async fn nothing_that_a_server_says_makes_us_fall_over() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let nested = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"99\",\"result\":{deep}}}");
    let raw = [
        "",
        "\u{1b}[2J\u{0}",
        "null",
        "[]",
        "{}",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1e400,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":18446744073709551616,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":[1],\"error\":{\"code\":1e99,\"message\":7}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"\\ud83d\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"elicitation/create\",\"params\":7}",
        &deep,
        &nested,
    ];
    let steps = raw.iter().map(|line| json!({ "raw": line }));
    let steps: Vec<Value> = steps.chain([json!({ "text": "the text" })]).collect();
    let hostile =
        json!({ "type": "object", "properties": { "t": { "pattern": "^(?=(a+)+$)(a|aa)+$" } } });
    let mut read = tool("read");
    read["outputSchema"] = hostile;
    let server = McpServer::new(json!({
        "tools": [read], "calls": { "read": steps }, "garbage": raw,
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("box__read", &json!({})),
        ScriptTurn::text("Read.").when("the text"),
    ])
    .await;
    let ask = jackfield(["ask", "Read"]).at(&claude.base_url());
    let ran = ask.servers([("box", server.trusted())]).run().await;
    ran.answers("Read.\n");
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert!(!ran.err.contains('\u{0}'), "{}", ran.err);
    kept(&claude);
}
