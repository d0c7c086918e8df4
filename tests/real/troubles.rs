//! The five problems of docs/troubleshooting.md, with real servers.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::{Value, json};

use crate::asking::said;
use crate::harness::kept;
use crate::world::{World, node, trusted, with};

#[tokio::test]
async fn s2_06_tools_that_do_not_reach_the_model_are_found_in_the_list() {
    let world = World::new();
    let none = json!({ "tools": { "allow": ["read_*"], "deny": ["read_file"] } });
    let files = with(&world.filesystem("notes"), &none);
    let list = world.jackfield(["tools", "list", "--json"]);
    let ran = list.servers([("files", files)]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    let tools = list.as_array().into_iter().flatten();
    let tools = tools.filter(|tool| tool["toolbox"] == "files");
    let tools: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    let expected = ["read_media_file", "read_multiple_files", "read_text_file"];
    assert_eq!(tools, expected.map(|tool| format!("files__{tool}")));
    world.is_left().await;
}

#[tokio::test]
async fn s2_06_a_model_that_calls_and_calls_is_stopped() {
    let world = World::new();
    let claude = ScriptedClaude::start(Script::by(|asked| {
        let may_call = asked.body["tool_choice"]["type"] != "none";
        Some(if may_call {
            ScriptTurn::call("everything__echo", &json!({ "message": "again" }))
        } else {
            ScriptTurn::text("It says it again.")
        })
    }))
    .await;
    let ask = world.jackfield(["ask", "Again"]).at(&claude.base_url());
    let servers = [("everything", trusted(&world.everything()))];
    let ran = ask.servers(servers).run().await;
    ran.answers("It says it again.\n");
    ran.says("the same call had the same outcome again and again");
    assert_eq!(claude.requests().len(), 4);
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s2_06_results_that_look_wrong_are_seen_without_a_model() {
    let world = World::new();
    let call = |arguments: [&'static str; 5], code: i32, result: &'static str| {
        let call = world.jackfield(arguments);
        let call = call.servers([("everything", world.everything())]);
        async move {
            let ran = call.run().await;
            assert_eq!(ran.code, Some(code), "{}", ran.err);
            let outcome: Value = serde_json::from_str(&ran.out).unwrap_or_default();
            assert_eq!(outcome["is_error"], code != 0, "{}", ran.out);
            assert!(said(&outcome).contains(result), "{}", ran.out);
        }
    };
    let name = "everything__get-sum";
    call(
        ["tools", "call", "--json", name, "{\"a\":19,\"b\":23}"],
        0,
        "42",
    )
    .await;
    call(
        ["tools", "call", "--json", name, "a=19"],
        7,
        "\"b\" is a required property",
    )
    .await;
    // A picture is not printed, and not passed over in silence.
    let picture = world.jackfield(["tools", "call", "everything__get-tiny-image"]);
    let servers = [("everything", world.everything())];
    let ran = picture.servers(servers).run().await;
    assert!(ran.out.contains("The image above"), "{}", ran.out);
    ran.says("the result has 1 file, which models see");
    world.is_left().await;
}

#[tokio::test]
async fn s2_06_a_server_that_is_not_available_says_which_problem_it_is_and_stops_no_other() {
    let world = World::new();
    let files = world.filesystem("notes");
    let line = "echo 'Welcome!'; exec \"$0\" \"$@\"";
    let noisy = json!(["-c", line, files["command"], files["args"][0]]);
    let servers = || {
        [
            (
                "absent",
                json!({ "command": "npx-of-nobody", "args": ["-y", "x"] }),
            ),
            ("good", trusted(&world.time())),
            (
                "no-folder",
                node("mcp-server-filesystem", &["/no/such/folder"]),
            ),
            ("noisy", json!({ "command": "sh", "args": noisy })),
            (
                "other",
                json!({ "command": "cat", "start_timeout": "500ms" }),
            ),
            (
                "unset",
                with(&files, &json!({ "env": { "T": "${NO_SUCH_TOKEN}" } })),
            ),
        ]
    };
    let list = world.jackfield(["mcp", "list", "--json"]);
    let ran = list.servers(servers()).run().await;
    let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    for (nth, state, words) in [
        (0, "failed", "there is no program `npx-of-nobody` in PATH"),
        (1, "ready", "null"),
        (
            2,
            "failed",
            "it ended with code 1 (it said: Error: None of the specified directories",
        ),
        (
            3,
            "ready",
            "it writes to standard output what is not the protocol",
        ),
        (4, "failed", "it did not answer within 0.5 s"),
        (
            5,
            "failed",
            "the environment variable NO_SUCH_TOKEN is not set",
        ),
    ] {
        assert_eq!(list[nth]["state"], state, "{}", ran.out);
        let told = format!("{} {}", list[nth]["reason"], list[nth]["problems"]);
        assert!(told.contains(words), "{told}");
        let has_advice = list[nth]["advice"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
        assert_eq!(has_advice, state == "failed", "{}", list[nth]);
    }
    let claude = ScriptedClaude::start([
        ScriptTurn::call("good__get_current_time", &json!({ "timezone": "UTC" })),
        ScriptTurn::text("It is known.").when("+00:00"),
    ])
    .await;
    let ask = world.jackfield(["ask", "What time is it?"]);
    let ask = ask.at(&claude.base_url());
    let ran = ask.servers(servers()).run().await;
    ran.answers("It is known.\n");
    for id in ["absent", "no-folder", "other"] {
        ran.says(&format!("{id}: the server `{id}` is not available"));
    }
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s2_06_calls_of_one_server_do_not_run_one_after_another() {
    let world = World::new();
    let slow = json!({ "duration": 1, "steps": 1 });
    let name = "everything__trigger-long-running-operation";
    let claude = ScriptedClaude::start([
        ScriptTurn::call(name, &slow)
            .and_call(name, &slow)
            .and_call(name, &slow),
        ScriptTurn::text("Done."),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "Three times"]);
    let ask = ask.at(&claude.base_url());
    let servers = [("everything", trusted(&world.everything()))];
    let ran = ask.servers(servers).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let events = ran.events();
    let kinds = events.iter().filter_map(|event| event["event"].as_str());
    let kinds: Vec<&str> = kinds
        .filter(|kind| ["tool_started", "tool_finished"].contains(kind))
        .collect();
    assert_eq!(kinds[..3], ["tool_started"; 3]);
    assert_eq!(kinds[3..], ["tool_finished"; 3]);
    kept(&claude);
    world.is_left().await;
}
