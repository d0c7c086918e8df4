//! What servers get of us, and that nothing of them is left, however we end and whenever.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{MAX_SHUTDOWN_TIME, McpServer, is_alive, jackfield, kept, tool};

/// A terminal that is closed, somebody who asks, somebody who insists, and Ctrl-C.
const ENDS: [&str; 4] = ["-HUP", "-INT", "-KILL", "-TERM"];

/// Waits until these processes are gone.
async fn gone(processes: &[String], after: &str) {
    let ended = tokio::time::timeout(MAX_SHUTDOWN_TIME, async {
        while processes.iter().any(|process| is_alive(process)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(ended.await.is_ok(), "{after}: of {processes:?} some stay");
}

/// A program that never answers, as `npx` while it loads the server, and heeds nothing: with a child in
/// a session of its own. All write down who they are.
fn never_ready(pids: &Path) -> Value {
    let pids = pids.display();
    let line = format!(
        "trap '' HUP INT TERM; echo $$ >> {pids}; \
         setsid sh -c 'echo $$ >> {pids}; while :; do sleep 1; done' & while :; do sleep 1; done"
    );
    json!({ "command": "sh", "args": ["-c", line] })
}

async fn begun(pids: &Path, many: usize) -> Vec<String> {
    let read = || fs::read_to_string(pids).unwrap_or_default();
    let begun = tokio::time::timeout(Duration::from_secs(60), async {
        while read().lines().count() < many {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(begun.await.is_ok(), "it never begins: {}", read());
    read().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_server_that_is_still_starting_is_gone_whichever_way_we_end() {
    for end in ENDS {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let pids = folder.path().join("pids");
        let claude = ScriptedClaude::start([]).await;
        let ask = jackfield(["ask", "Hello"]).at(&claude.base_url());
        let running = ask.servers([("npx", never_ready(&pids))]).start();
        let processes = begun(&pids, 2).await;
        running.signal(end);
        gone(&processes, end).await;
        let ran = running.end().await;
        assert_ne!(ran.code, Some(0), "{end}: {}", ran.err);
    }
}

#[tokio::test]
async fn a_server_in_a_call_is_gone_whichever_way_we_end() {
    for end in ENDS {
        let stubborn = McpServer::new(json!({
            "tools": [tool("think")], "calls": { "think": [{ "wait": true }] }, "stays": true,
        }));
        let claude = ScriptedClaude::start([ScriptTurn::call("stubborn__think", &json!({}))]).await;
        let ask = jackfield(["ask", "Think"]).at(&claude.base_url());
        let running = ask.servers([("stubborn", stubborn.trusted())]).start();
        stubborn.until("call think").await;
        running.signal(end);
        stubborn.kept_and_gone().await;
        let ran = running.end().await;
        assert_ne!(ran.code, Some(0), "{end}: {}", ran.err);
    }
}

#[tokio::test]
async fn a_server_gets_nothing_of_our_environment_but_what_programs_need() {
    let seen = McpServer::of("environment", &json!([{ "environment": true }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("seen__environment", &json!({})),
        ScriptTurn::text("Seen."),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "Look"]).at(&claude.base_url());
    // A key is one by what it is for, and not by its name: nothing that is not named passes.
    let ask = [
        "AWS_SECRET_ACCESS_KEY",
        "DEEPSEEK_API_KEY",
        "GITHUB_TOKEN",
        "JACKFIELD_MODEL_X",
        "LD_PRELOAD_X",
        "NODE_OPTIONS",
        "OPENAI_API_KEY",
        "PYTHONPATH",
        "SSH_AUTH_SOCK",
    ]
    .iter()
    .fold(ask, |ask, name| ask.env(name, "value-of-ours"));
    let ask = [
        ("LANG", "C"),
        ("LC_TIME", "C"),
        ("LOGNAME", "me"),
        ("SHELL", "/bin/sh"),
        ("TZ", "UTC"),
        ("USER", "me"),
    ]
    .iter()
    .fold(ask, |ask, (name, value)| ask.env(name, value));
    let files = tempfile::tempdir().expect("a folder can be made");
    let ask = ask.env("TMPDIR", files.path());
    let given = seen.with(&json!({ "trust": true, "env": { "MINE": "1" } }));
    let ran = ask.servers([("seen", given)]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    let mut names: Vec<&str> = calls[0]["result"]
        .as_str()
        .unwrap_or_default()
        .split(' ')
        .collect();
    names.sort_unstable();
    let expected = [
        "HOME", "LANG", "LC_TIME", "LOGNAME", "MINE", "PATH", "SHELL", "TMPDIR", "TZ", "USER",
    ];
    assert_eq!(names, expected);
    // Nor is any file left where files are that nobody wants to keep.
    let left = fs::read_dir(files.path())
        .expect("a folder can be read")
        .count();
    assert_eq!(left, 0);
    kept(&claude);
    seen.kept_and_gone().await;
}

#[tokio::test]
async fn what_is_told_twice_is_an_error_with_its_line_and_starts_nothing() {
    let seen = McpServer::of("read", &json!([]));
    let entry = seen.entry();
    let file = format!("{{\"mcpServers\": {{\n\"a\": {entry},\n\"a\": {entry}\n}}}}");
    let list = jackfield(["mcp", "list", "--mcp-config", "mine.json"]);
    let ran = list.in_project("mine.json", file).run().await;
    ran.fails(
        3,
        "mine.json:3: key `mcpServers.a`: this is here twice: the first one stands in line 2",
        "remove one of them",
    );
    assert_eq!(seen.count("start"), 0);
}

/// What a process has open, and how many children.
#[cfg(target_os = "linux")]
fn held_by(process: u32) -> (usize, usize) {
    let count = |folder: &str| {
        let entries = fs::read_dir(format!("/proc/{process}/{folder}"));
        entries.map_or(0, Iterator::count)
    };
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let children = tasks.flatten().map(|task| {
        let children = fs::read_to_string(task.path().join("children"));
        children.unwrap_or_default().split_whitespace().count()
    });
    (count("fd"), children.sum())
}

/// Conversations begun anew in one process, with a server that stays.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_hundred_sessions_of_one_process_leave_nothing_behind() {
    let server = McpServer::of("read", &json!([{ "text": "the text" }]));
    let turns = (0..=100).flat_map(|nth| {
        let call = ScriptTurn::call("box__read", &json!({ "nth": nth }));
        [call, ScriptTurn::text(format!("answer {nth}."))]
    });
    let claude = ScriptedClaude::start(Vec::from_iter(turns)).await;
    let files = tempfile::tempdir().expect("a folder can be made");
    let chat = jackfield(["chat"]).at(&claude.base_url());
    let chat = chat.servers([("box", server.trusted())]).held();
    let mut running = chat.env("TMPDIR", files.path()).start();
    let mut first = None;
    for nth in 0..=100 {
        running.say("go").await;
        running.out.until(&format!("answer {nth}.")).await;
        running.say("/clear").await;
        first.get_or_insert_with(|| held_by(running.id()));
    }
    let (open, children) = first.expect("a first session");
    assert_eq!(children, 1);
    let no_more = tokio::time::timeout(MAX_SHUTDOWN_TIME, async {
        // One connection may be about to be closed.
        while held_by(running.id()) > (open, children) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let held = held_by(running.id());
    assert!(no_more.await.is_ok(), "{held:?}, and {open} at first");
    running.hang_up();
    let ran = running.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(server.count("call read"), 101);
    assert_eq!(server.count("start "), 1);
    let left = fs::read_dir(files.path()).expect("a folder can be read");
    assert_eq!(left.count(), 0);
    kept(&claude);
    server.kept_and_gone().await;
}
