//! What real servers give: pictures, resources, structured content, progress; and what they get.

use std::collections::BTreeMap;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::asking::said;
use crate::harness::kept;
use crate::world::{World, trusted};

#[tokio::test]
async fn the_era_of_each_server_is_found_and_its_tools_are_listed() {
    let world = World::new();
    world.write("notes/a.txt", "a");
    world.repository("notes", "First note");
    let list = world.jackfield(["mcp", "list", "--json"]);
    let ran = list
        .servers([
            ("everything", world.everything()),
            ("files", world.filesystem("notes")),
            ("git", world.git("notes")),
            ("memory", world.memory("graph.jsonl")),
            ("time", world.time()),
        ])
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    let expected = [
        ("everything", "2025-11-25", false, "echo"),
        ("files", "2025-11-25", false, "read_text_file"),
        ("git", "2026-07-28", true, "git_log"),
        ("memory", "2025-11-25", false, "create_entities"),
        ("time", "2026-07-28", true, "get_current_time"),
    ];
    for (nth, (id, protocol, stateless, tool)) in expected.into_iter().enumerate() {
        let server = &list[nth];
        assert_eq!(server["id"], id, "{}", ran.out);
        assert_eq!(server["protocol"], protocol, "{id}");
        assert_eq!(server["stateless"], stateless, "{id}");
        let mut tools = server["tools"].as_array().into_iter().flatten();
        assert!(tools.any(|offered| offered == tool), "{server}");
    }
    // A tool that can be called in no way that is known here is not offered.
    let problems = list[0]["problems"].to_string();
    assert!(
        problems.contains("skipped tool `simulate-research-query`"),
        "{problems}"
    );
    world.is_left().await;
}

#[tokio::test]
async fn pictures_resources_and_structured_content_reach_the_model() {
    let world = World::new();
    let reference = |kind: &str| json!({ "resourceType": kind, "resourceId": 1 });
    let annotated = json!({ "messageType": "error", "includeImage": true });
    let packed = json!({ "data": "data:text/plain,hello", "outputType": "resource" });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("everything__get-tiny-image", &json!({}))
            .and_call("everything__get-annotated-message", &annotated)
            .and_call("everything__get-resource-reference", &reference("Text"))
            .and_call("everything__get-resource-reference", &reference("Blob"))
            .and_call("everything__get-resource-links", &json!({ "count": 2 }))
            .and_call(
                "everything__get-structured-content",
                &json!({ "location": "Chicago" }),
            )
            .and_call("everything__gzip-file-as-resource", &packed),
        ScriptTurn::text("Seen."),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "--yes", "Show me everything"]);
    let ask = ask.at(&claude.base_url());
    let ran = ask
        .servers([("everything", world.everything())])
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    let calls = calls.as_array().cloned().unwrap_or_default();
    assert!(
        calls.iter().all(|call| call["status"] == "done"),
        "{calls:?}"
    );
    let files: Vec<&Value> = calls.iter().map(|call| &call["files"]).collect();
    assert_eq!(files, [1, 1, 1, 1, 0, 0, 1], "{calls:?}");
    let weather = &calls[5]["structured"];
    assert!(weather["temperature"].is_number(), "{weather}");
    let outcomes = claude.requests()[1]["messages"][2]["content"].clone();
    let kinds = |nth: usize| {
        let parts = outcomes[nth]["content"].as_array().into_iter().flatten();
        let kinds = parts.filter_map(|part| part["type"].as_str().map(str::to_owned));
        kinds.collect::<Vec<String>>()
    };
    assert_eq!(kinds(0), ["text", "image", "text"], "{outcomes}");
    assert_eq!(kinds(1), ["text", "image"]);
    let picture = &outcomes[0]["content"][1]["source"];
    assert_eq!(picture["media_type"], "image/png");
    let text = outcomes[2].to_string();
    assert!(text.contains("This is a plaintext resource"), "{text}");
    let links = outcomes[4].to_string();
    assert!(links.contains("demo://resource/dynamic/text/2"), "{links}");
    // What a server says about itself is told as its own words.
    let system = claude.requests()[0]["system"].to_string();
    assert!(system.contains("Everything Server"), "{system}");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn progress_is_told_while_a_call_runs() {
    let world = World::new();
    let steps = json!({ "duration": 1, "steps": 4 });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("everything__trigger-long-running-operation", &steps),
        ScriptTurn::text("Done.").when("completed"),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "Take your time"]);
    let ask = ask.at(&claude.base_url());
    let servers = [("everything", trusted(&world.everything()))];
    let ran = ask.servers(servers).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let events = ran.events();
    let progress = events
        .iter()
        .filter(|event| event["event"] == "tool_progress");
    let done: Vec<(f64, f64)> = progress
        .filter_map(|event| Some((event["done"].as_f64()?, event["of"].as_f64()?)))
        .collect();
    assert!(
        !done.is_empty() && done.iter().all(|(_, of)| *of == 4.0),
        "{done:?}"
    );
    assert!(done.is_sorted_by(|a, b| a.0 < b.0), "{done:?}");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn a_server_gets_what_programs_need_and_no_keys() {
    let world = World::new();
    let call = world.jackfield(["tools", "call", "everything__get-env"]);
    let ran = call
        .at("http://127.0.0.1:9")
        .env("OPENAI_API_KEY", "sk-another-never-to-be-seen")
        .env("UNKNOWN_TO_US", "x")
        .env("LC_ALL", "C.UTF-8")
        .servers([("everything", world.everything())])
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let got: BTreeMap<String, Value> = serde_json::from_str(&ran.out).unwrap_or_default();
    let names: Vec<&str> = got.keys().map(String::as_str).collect();
    assert_eq!(names, ["HOME", "LC_ALL", "PATH", "TMPDIR"]);
    world.is_left().await;
}

#[tokio::test]
async fn where_nobody_can_be_asked_only_what_a_trusted_server_reads_may_run() {
    let world = World::new();
    world.write("mine/a.txt", "mine");
    world.write("theirs/a.txt", "theirs");
    let (mine, theirs) = (world.said("mine/a.txt"), world.said("theirs/a.txt"));
    let write = json!({ "path": mine, "content": "changed" });
    let calls = || {
        ScriptTurn::call("mine__read_text_file", &json!({ "path": mine }))
            .and_call("mine__write_file", &write)
            .and_call("theirs__read_text_file", &json!({ "path": theirs }))
    };
    for (allow, statuses, text) in [
        ("none/none", ["done", "denied", "denied"], "mine"),
        ("mine/write_*", ["done", "done", "denied"], "changed"),
        ("*", ["done", "done", "done"], "changed"),
    ] {
        world.write("mine/a.txt", "mine");
        let claude = ScriptedClaude::start([calls(), ScriptTurn::text("Tried.")]).await;
        let ask = world.jackfield(["ask", "--json", "--allow", allow, "Try"]);
        let servers = [
            ("mine", trusted(&world.filesystem("mine"))),
            ("theirs", world.filesystem("theirs")),
        ];
        let ran = ask.at(&claude.base_url()).servers(servers).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let calls = ran.last_event()["calls"].clone();
        let found = [0, 1, 2].map(|nth| calls[nth]["status"].clone());
        assert_eq!(found, statuses, "{allow}: {calls}");
        assert_eq!(world.read("mine/a.txt"), text, "{allow}");
        if statuses[2] == "denied" {
            let told = said(&calls[2]);
            assert!(
                told.contains("\"theirs/read_text_file\" = \"allow\""),
                "{told}"
            );
        }
        kept(&claude);
    }
    world.is_left().await;
}
