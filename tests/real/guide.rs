//! What docs/guides/use-mcp-servers.md quotes does what the guide says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Jackfield, kept};
use crate::world::{World, node_folder, python_folder};

const SERVERS: &str = include_str!("../servers/guide/mcp-servers.json");
const POLICY: &str = include_str!("../servers/guide/jackfield.toml");

/// The binary with the servers of the guide, whose programs are installed.
fn guided<const N: usize>(world: &World, arguments: [&str; N]) -> Jackfield {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = [
        world.path("bin"),
        node_folder().join("node_modules/.bin"),
        python_folder().join("bin"),
    ];
    let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path)));
    let run = world.jackfield(arguments);
    run.in_project("mcp-servers.json", SERVERS)
        .env("PATH", path.expect("no folder has a colon"))
        .env("NOTES", world.path("notes"))
}

/// A `docker` that runs the server of its image here, over the folder that would be mounted.
fn with_docker(world: &World) {
    let script = "#!/bin/sh\nmount=${6#*src=}\nexec mcp-server-filesystem \"${mount%%,*}\"\n";
    world.write("bin/docker", script);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.path("bin/docker"), mode).expect("a file can be made a program");
}

#[tokio::test]
async fn the_servers_of_the_guide_start_and_offer_what_it_says() {
    let world = World::new();
    world.write("notes/a.txt", "a");
    with_docker(&world);
    let list = ["mcp", "list", "--json", "--mcp-config=mcp-servers.json"];
    let ran = guided(&world, list).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    let states: Vec<(&str, &str)> = list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|server| Some((server["id"].as_str()?, server["state"].as_str()?)))
        .collect();
    let expected = [
        ("boxed", "ready"),
        ("code", "ready"),
        ("memory", "ready"),
        ("notes", "ready"),
        ("time", "ready"),
    ];
    assert_eq!(states, expected, "{}", ran.out);
    assert_eq!(list[1]["tools"][0], "bash_exec", "{}", list[1]);
    let memory = list[2]["tools"].to_string();
    assert!(
        memory.contains("create_entities") && !memory.contains("delete_"),
        "{memory}"
    );
    world.is_left().await;
}

#[tokio::test]
async fn the_server_of_the_guide_runs_code_that_reaches_nothing() {
    let world = World::new();
    world.write("notes/a.txt", "the text");
    let secret = world.said("notes/a.txt");
    let command = format!("python3 -c 'print(sum(i * i for i in range(1000)))'; cat {secret}");
    let claude = ScriptedClaude::start([
        ScriptTurn::call("code__bash_exec", &json!({ "command": command })),
        ScriptTurn::text("One of two."),
    ])
    .await;
    let ask = [
        "ask",
        "--json",
        "--allow=code/*",
        "--mcp-config=mcp-servers.json",
        "Try",
    ];
    let ran = guided(&world, ask).at(&claude.base_url()).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    let said = calls.to_string();
    assert!(said.contains("332833500"), "{said}");
    assert!(said.contains("No such file"), "{said}");
    kept(&claude);
    world.is_left().await;
}

#[tokio::test]
async fn the_policy_of_the_guide_lets_run_what_it_says() {
    let world = World::new();
    world.write("notes/a.txt", "the text");
    with_docker(&world);
    let note = world.said("notes/a.txt");
    let entity = json!({ "name": "a", "entityType": "note", "observations": ["the text"] });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("notes__read_text_file", &json!({ "path": note }))
            .and_call("boxed__read_text_file", &json!({ "path": note }))
            .and_call(
                "notes__write_file",
                &json!({ "path": note, "content": "other" }),
            )
            .and_call("memory__create_entities", &json!({ "entities": [entity] }))
            .and_call("time__get_current_time", &json!({ "timezone": "UTC" })),
        ScriptTurn::text("Three of five."),
    ])
    .await;
    let ask = ["ask", "--json", "--mcp-config=mcp-servers.json", "Try"];
    let ask = guided(&world, ask).at_with(&claude.base_url(), POLICY);
    let ran = ask.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    let statuses = [0, 1, 2, 3, 4].map(|nth| calls[nth]["status"].clone());
    let expected = ["done", "denied", "denied", "done", "done"];
    assert_eq!(statuses, expected, "{calls}");
    assert_eq!(world.read("notes/a.txt"), "the text");
    assert!(world.read("notes/memory.jsonl").contains("the text"));
    kept(&claude);
    world.is_left().await;
}
