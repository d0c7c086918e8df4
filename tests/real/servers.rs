//! The servers themselves: how real ones are configured, told apart, started late and in containers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::asking::said;
use crate::harness::kept;
use crate::world::{World, node, trusted, with};

#[tokio::test]
async fn s2_01_both_shapes_of_the_file_with_a_variable_that_only_its_server_gets() {
    let world = World::new();
    let token = json!({ "env": { "GITHUB_TOKEN": "${MY_TOKEN}" } });
    let (weather, github) = (world.everything(), with(&world.everything(), &token));
    let listed = |id: &str, entry: &Value, more: Value| {
        let entry = with(entry, &json!({ "id": id, "transport": "stdio" }));
        with(&entry, &more)
    };
    let named = json!({ "name": "Weather", "description": "Forecasts", "enabled": true });
    let list = json!({ "servers": [
        listed("weather", &weather, named),
        listed("github", &github, json!({})),
        { "id": "trello", "enabled": false, "command": "not-there", "args": [], "env": {} },
    ] });
    let table = json!({ "mcpServers": {
        "weather": weather, "github": github, "trello": { "command": "x", "disabled": true },
    } });
    for file in [list, table] {
        let claude = ScriptedClaude::start([
            ScriptTurn::call("weather__get-env", &json!({}))
                .and_call("github__get-env", &json!({})),
            ScriptTurn::text("Seen."),
        ])
        .await;
        let ask = [
            "ask",
            "--json",
            "--yes",
            "--mcp-config",
            "mine.json",
            "Look",
        ];
        let ask = world.jackfield(ask).at(&claude.base_url());
        let ask = ask.env("MY_TOKEN", "ghp-1234567");
        let ran = ask.in_project("mine.json", file.to_string()).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let calls = ran.last_event()["calls"].clone();
        let has = |nth: usize| said(&calls[nth]).contains("\"GITHUB_TOKEN\"");
        assert_eq!([has(0), has(1)], [false, true], "{calls}");
        kept(&claude);
    }
    world.is_left().await;
}

#[tokio::test]
async fn a_server_without_folders_of_its_own_works_in_the_roots() {
    let world = World::new();
    world.write("my docs/a.txt", "from the docs");
    world.write("others/b.txt", "from elsewhere");
    let read = |path: &str| json!({ "path": world.said(path) });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("files__read_text_file", &read("my docs/a.txt"))
            .and_call("files__read_text_file", &read("others/b.txt")),
        ScriptTurn::text("Read."),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "Read both"]);
    let roots = json!({ "roots": [world.said("my docs")], "trust": true });
    let files = with(&node("mcp-server-filesystem", &[]), &roots);
    let ran = ask
        .at(&claude.base_url())
        .servers([("files", files)])
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    assert_eq!(said(&calls[0]), "from the docs");
    assert_eq!(calls[1]["status"], "failed", "{calls}");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s2_02_and_s2_03_the_same_tool_of_two_servers_one_with_a_dash() {
    let world = World::new();
    world.write("mine/a.txt", "from mine");
    world.write("data/a.txt", "from data");
    let read = |folder: &str| json!({ "path": world.said(&format!("{folder}/a.txt")) });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("filesystem-mine__read_text_file", &read("mine"))
            .and_call("filesystem-data__read_text_file", &read("data"))
            .and_call("filesystem-data__read_text_file", &read("mine")),
        ScriptTurn::text("Both."),
    ])
    .await;
    let ask = world.jackfield(["ask", "--json", "Read both"]);
    let servers = [
        ("filesystem-data", trusted(&world.filesystem("data"))),
        ("filesystem-mine", trusted(&world.filesystem("mine"))),
    ];
    let ran = ask.at(&claude.base_url()).servers(servers).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    assert_eq!(
        [said(&calls[0]), said(&calls[1])],
        ["from mine", "from data"]
    );
    assert_eq!(calls[1]["toolbox"], "filesystem-data");
    // Each has its own folder and no other.
    assert_eq!(calls[2]["status"], "failed", "{calls}");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s2_04_a_server_in_a_container_is_a_server_like_others() {
    let world = World::new();
    world.write("notes/a.txt", "in a box");
    // A container that is none: what stands after the image runs here.
    world.write("bin/docker", "#!/bin/sh\nshift 4\nexec \"$@\"\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.path("bin/docker"), mode).expect("a file can be made a program");
    let files = world.filesystem("notes");
    let server = json!({
        "command": world.path("bin/docker"),
        "args": ["run", "-i", "--rm", "mcp/filesystem", files["command"], files["args"][0]],
    });
    let read = json!({ "path": world.said("notes/a.txt") });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("files__read_text_file", &read),
        ScriptTurn::text("Read.").when("in a box"),
    ])
    .await;
    let ask = world.jackfield(["ask", "Read a"]).at(&claude.base_url());
    let ran = ask.servers([("files", trusted(&server))]).run().await;
    ran.answers("Read.\n");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn s2_05_a_lazy_server_is_offered_as_it_was_and_started_by_the_first_call() {
    let world = World::new();
    world.write("notes/a.txt", "late");
    // Whether it was started, a file says.
    world.write(
        "start",
        "#!/bin/sh\necho started >> \"$0.log\"\nexec \"$@\"\n",
    );
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.path("start"), mode).expect("a file can be made a program");
    world.write("start.log", "");
    let files = world.filesystem("notes");
    let server = json!({
        "command": world.path("start"), "args": [files["command"], files["args"][0]],
        "lazy": true, "trust": true,
    });
    let starts = || world.read("start.log").lines().count();
    for _ in 0..2 {
        let list = world.jackfield(["tools", "list"]);
        let ran = list.servers([("files", server.clone())]).run().await;
        assert!(ran.out.contains("files/read_text_file"), "{}", ran.out);
        assert_eq!(starts(), 1);
    }
    let read = json!({ "path": world.said("notes/a.txt") });
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello."),
        ScriptTurn::call("files__read_text_file", &read),
        ScriptTurn::text("Read.").when("late"),
    ])
    .await;
    for (question, answer, expected) in [("Hello", "Hello.\n", 1), ("Read a", "Read.\n", 2)] {
        let ask = world.jackfield(["ask", question]).at(&claude.base_url());
        let ran = ask.servers([("files", server.clone())]).run().await;
        ran.answers(answer);
        assert_eq!(starts(), expected);
    }
    kept(&claude);
    world.is_left().await;
}
