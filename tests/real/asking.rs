//! What people ask, answered by real servers.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openai::ScriptedOpenAi;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{KEY, kept};
use crate::world::{World, trusted};

#[tokio::test]
async fn s1_02_one_call_and_the_second_round_says_it_in_words() {
    let world = World::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call(
            "time__get_current_time",
            &json!({ "timezone": "Asia/Tokyo" }),
        ),
        ScriptTurn::text("It is late in Tokyo.").when("+09:00"),
    ])
    .await;
    let ask = world.jackfield(["ask", "What time is it in Tokyo?"]);
    let ask = ask.at(&claude.base_url());
    let ran = ask.servers([("time", trusted(&world.time()))]).run().await;
    ran.answers("It is late in Tokyo.\n");
    ran.says("time__get_current_time(timezone: \"Asia/Tokyo\")\n");
    ran.says("2 rounds · 1 call ");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s1_03_calls_of_one_reply_go_back_in_call_order_whichever_ends_first() {
    let world = World::new();
    world.write("notes/b.txt", "second");
    // The first one takes a second, the second one none.
    let slow = json!({ "duration": 1, "steps": 1 });
    let read = json!({ "path": world.said("notes/b.txt") });
    let openai = ScriptedOpenAi::start([
        ScriptTurn::call("everything__trigger-long-running-operation", &slow)
            .and_call("files__read_text_file", &read),
        ScriptTurn::text("Both.").when("second"),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "Do both"]);
    let ask = ask.env("OPENAI_API_KEY", KEY).configured(format!(
        "model = \"openai/gpt-6.2-sol\"\nproviders.openai.base_url = \"{}\"\n",
        openai.base_url()
    ));
    let servers = [
        ("everything", trusted(&world.everything())),
        ("files", trusted(&world.filesystem("notes"))),
    ];
    let ran = ask.servers(servers).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    assert!(said(&calls[0]).starts_with("Long running operation completed"));
    assert_eq!(said(&calls[1]), "second");
    // Both ran at once, and the quick one ended first.
    let events = ran.events();
    let of = |kind: &str| {
        let all = events.iter().enumerate();
        let of_kind = all.filter(|(_, event)| event["event"] == kind);
        let places = of_kind.map(|(place, event)| (place, event["id"].clone()));
        places.collect::<Vec<_>>()
    };
    let (started, finished) = (of("tool_started"), of("tool_finished"));
    assert!(started[1].0 < finished[0].0, "{}", ran.out);
    assert_eq!(finished[0].1, calls[1]["id"]);
    let input = openai.requests()[1]["input"].clone();
    let outputs = input.as_array().into_iter().flatten();
    let outputs = outputs.filter(|item| item["type"] == "function_call_output");
    let outputs: Vec<String> = outputs.map(|item| item["output"].to_string()).collect();
    assert!(outputs[0].contains("Long running") && outputs[1].contains("second"));
    kept(&openai);
    world.is_left().await;
}

#[tokio::test]
async fn s1_04_a_chain_over_three_servers_takes_a_round_for_each() {
    let world = World::new();
    let servers = [
        ("files", world.filesystem("notes")),
        ("memory", world.memory("graph.jsonl")),
        ("time", world.time()),
    ];
    let note = world.said("notes/now.txt");
    let entities = json!({ "entities": [{
        "name": "笔记", "entityType": "file", "observations": ["Это время в Токио"],
    }] });
    let claude = ScriptedClaude::start([
        ScriptTurn::call(
            "time__get_current_time",
            &json!({ "timezone": "Asia/Tokyo" }),
        ),
        ScriptTurn::call(
            "files__write_file",
            &json!({ "path": note, "content": "+09:00" }),
        )
        .when("+09:00"),
        ScriptTurn::call("memory__create_entities", &entities).when("Successfully wrote"),
        ScriptTurn::text("Written and remembered.").when("笔记"),
    ])
    .await;
    let ask = world.jackfield(["ask", "--yes", "Write down the time in Tokyo"]);
    let ran = ask.at(&claude.base_url()).servers(servers).run().await;
    ran.answers("Written and remembered.\n");
    ran.says("4 rounds · 3 calls ");
    assert_eq!(world.read("notes/now.txt"), "+09:00");
    let graph = world.read("graph.jsonl");
    assert!(
        graph.contains("笔记") && graph.contains("Это время"),
        "{graph}"
    );
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s1_05_a_list_first_and_then_one_of_it_in_full() {
    let world = World::new();
    world.write("notes/机器学习.txt", "Градиентный спуск");
    let commit = world.repository("notes", "First note");
    let repository = world.said("notes");
    let log = json!({ "repo_path": repository, "max_count": 1 });
    let show = json!({ "repo_path": repository, "revision": commit });
    let note = json!({ "path": world.said("notes/机器学习.txt") });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("files__list_directory", &json!({ "path": repository })),
        ScriptTurn::call("files__read_text_file", &note).when("[FILE] 机器学习.txt"),
        ScriptTurn::call("git__git_log", &log).when("Градиентный спуск"),
        ScriptTurn::call("git__git_show", &show).when(commit.as_str()),
        ScriptTurn::text("Here they are.").when("+Градиентный спуск"),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "Show my notes, then the first one in full"]);
    let servers = [
        ("files", trusted(&world.filesystem("notes"))),
        ("git", trusted(&world.git("notes"))),
    ];
    let ran = ask.at(&claude.base_url()).servers(servers).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let last = ran.last_event();
    assert_eq!(
        (&last["answer"], &last["rounds"]),
        (&json!("Here they are."), &json!(5))
    );
    // The old server sends the text twice, as a part and as structured content.
    assert_eq!(
        last["calls"][1]["structured"]["content"],
        "Градиентный спуск"
    );
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s1_06_a_tool_that_is_not_there_is_answered_with_those_that_are() {
    let world = World::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("time__get_curent_time", &json!({})),
        ScriptTurn::text("There is no such tool.")
            .when("time__convert_time, time__get_current_time"),
    ])
    .await;
    let ask = world.jackfield(["ask", "What time is it?"]);
    let ask = ask.at(&claude.base_url());
    let ran = ask.servers([("time", trusted(&world.time()))]).run().await;
    ran.answers("There is no such tool.\n");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s1_06_a_server_that_is_killed_in_a_call_is_told_of_and_started_again() {
    let world = World::new();
    let slow = json!({ "duration": 600, "steps": 6000 });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("everything__trigger-long-running-operation", &slow),
        ScriptTurn::call("everything__echo", &json!({ "message": "again" }))
            .when("ended by signal 9"),
        ScriptTurn::text("It is back.").when("Echo: again"),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "Think long"]);
    let ask = ask.at(&claude.base_url());
    let mut running = ask
        .servers([("everything", trusted(&world.everything()))])
        .start();
    running.out.until("tool_progress").await;
    let first = world.process("mcp-server-everything");
    kill(first);
    let ran = running.end().await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let last = ran.last_event();
    assert_eq!(last["answer"], "It is back.");
    // Whether it had done what it was asked is not known.
    assert_eq!(last["calls"][0]["status"], "unknown");
    assert_eq!(last["calls"][1]["status"], "done");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s1_07_a_call_that_fails_stops_no_other() {
    let world = World::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("files__read_text_file", &json!({ "path": "/etc/hostname" }))
            .and_call(
                "time__get_current_time",
                &json!({ "timezone": "Mars/Olympus" }),
            )
            .and_call("time__get_current_time", &json!({ "zone": "UTC" }))
            .and_call("time__get_current_time", &json!({ "timezone": "UTC" })),
        ScriptTurn::text("One of four."),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "Try"]);
    let servers = [
        ("files", trusted(&world.filesystem("notes"))),
        ("time", trusted(&world.time())),
    ];
    let ran = ask.at(&claude.base_url()).servers(servers).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    let statuses = [0, 1, 2, 3].map(|nth| calls[nth]["status"].clone());
    assert_eq!(statuses, ["failed", "failed", "not_run", "done"], "{calls}");
    assert!(said(&calls[0]).contains("outside allowed directories"));
    assert!(said(&calls[1]).contains("Invalid timezone"));
    assert!(said(&calls[2]).contains("\"timezone\" is a required property"));
    assert!(said(&calls[3]).contains("+00:00"));
    kept(&claude);
    world.is_left().await;
}

/// What a call in a report came to.
pub(crate) fn said(call: &Value) -> &str {
    call["result"].as_str().unwrap_or_default()
}

/// Ends a process of a world by force.
fn kill(process: u32) {
    let kill = std::process::Command::new("kill")
        .args(["-KILL", &process.to_string()])
        .status();
    assert!(kill.expect("there is a `kill`").success());
}
