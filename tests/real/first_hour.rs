//! What a newcomer types: from an empty home to an answer that used a real MCP server, in three commands.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::kept;
use crate::world::{World, python_folder};

const COMMANDS: &str = "\
    \"$jackfield\" mcp add time --trust &&
    \"$jackfield\" mcp test time &&
    \"$jackfield\" ask 'What time is it in Tokyo?'";

#[tokio::test]
async fn three_commands_lead_to_an_answer_with_a_real_server() {
    let world = World::new();
    let call = json!({ "timezone": "Asia/Tokyo" });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("time__get_current_time", &call),
        ScriptTurn::text("It is late in Tokyo.").when("+09:00"),
    ])
    .await;
    // `uvx` runs a program of PyPI; here it runs the installed one.
    let programs = python_folder().join("bin");
    world.write(
        "bin/uvx",
        &format!("#!/bin/sh\nexec \"{}/$1\"\n", programs.display()),
    );
    let mode = fs::Permissions::from_mode(0o700);
    fs::set_permissions(world.path("bin/uvx"), mode).expect("the program can be run");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", world.said("bin"));
    // The home is empty but for the address of the scripted model.
    let commands = world.shell(COMMANDS).at(&claude.base_url());
    let ran = commands.env("PATH", path).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.ends_with("It is late in Tokyo.\n"), "{}", ran.out);
    ran.says("added: time");
    ran.says("time__get_current_time(timezone: \"Asia/Tokyo\")\n");
    kept(&claude);
    world.is_left().await;
}
