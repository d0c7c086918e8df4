//! What is left of real servers: nothing, however we end.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Running, kept};
use crate::world::{World, node_folder, trusted};

/// `npx` as people have it: a shell and a process of its own between us and the server.
fn through_npx() -> Value {
    json!({
        "command": "npx",
        "args": ["--no-install", "mcp-server-everything"],
        "cwd": node_folder(),
        "env": { "npm_config_update_notifier": "false" },
    })
}

/// A turn in the middle of a call of a server that does not end when its input does.
async fn in_a_call(world: &World) -> (ScriptedClaude, Running) {
    // Its timer keeps the server running without anybody who speaks with it.
    let stay = ScriptTurn::call("everything__toggle-simulated-logging", &json!({}));
    let slow = json!({ "duration": 600, "steps": 6000 });
    let name = "everything__trigger-long-running-operation";
    let claude = ScriptedClaude::start([stay, ScriptTurn::call(name, &slow)]).await;
    let ask = world.jackfield(["ask", "--json", "--yes", "Stay"]);
    let ask = ask.at(&claude.base_url());
    let mut running = ask.servers([("everything", through_npx())]).start();
    running.out.until("tool_progress").await;
    // Ours, the guard, npx, its shell perhaps, and the server.
    let there = world.processes();
    assert!(there.len() >= 4, "{there:?}");
    (claude, running)
}

#[tokio::test]
async fn killed_by_force_it_takes_a_server_behind_npx_along() {
    let world = World::new();
    let (claude, running) = in_a_call(&world).await;
    running.kill();
    assert_eq!(running.end().await.code, None);
    world.is_left().await;
    kept(&claude);
}

#[tokio::test]
async fn ctrl_c_leaves_nothing_of_a_server_behind_npx() {
    let world = World::new();
    let (claude, running) = in_a_call(&world).await;
    running.interrupt();
    let ran = running.end().await;
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert_eq!(ran.last_event()["end"]["kind"], "cancelled");
    world.is_left().await;
    kept(&claude);
}

#[tokio::test]
async fn a_hundred_calls_one_after_another_leave_nothing() {
    let world = World::new();
    let servers = || [("memory", trusted(&world.memory("graph.jsonl")))];
    for nth in 0..CALLS {
        let entity = json!({ "entities": [{
            "name": format!("note {nth}"), "entityType": "note", "observations": [],
        }] });
        let entity = entity.to_string();
        let call = ["tools", "call", "memory__create_entities", &entity];
        let ran = world.jackfield(call).servers(servers()).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        // Not a moment later: each waits for the end of its own.
        let stay = world.processes();
        assert!(stay.is_empty(), "after call {nth}: {stay:?}");
    }
    assert_eq!(world.read("graph.jsonl").lines().count(), CALLS);
    world.is_left().await;
}

const CALLS: usize = 100;
