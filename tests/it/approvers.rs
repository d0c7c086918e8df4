//! Programs and tools that are asked before a person is, with the real binary.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{McpServer, Ran, jackfield, kept};

/// A question whose one call is decided by this script of the shell; what the model was told of the call.
async fn decided(script: &str, timeout: &str) -> (Ran, String, tempfile::TempDir) {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("done"),
    ])
    .await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = write(&folder, script);
    let more = format!(
        "[policy.tools]\n\"*\" = \"ask\"\n[approvals]\ncommand = [\"{}\", \"{}\"]\ntimeout = \"{timeout}\"",
        program.display(),
        folder.path().display(),
    );
    let ask = jackfield(["ask", "--db"]).more(&[
        &folder.path().join("jackfield.db").display().to_string(),
        "how much is it?",
    ]);
    let ran = ask.at_with(&claude.base_url(), &more).run().await;
    kept(&claude);
    let messages = claude.requests()[1]["messages"].clone();
    let last = messages.as_array().and_then(|all| all.last().cloned());
    (ran, last.unwrap_or_default().to_string(), folder)
}

/// Waits until the process is gone that wrote its id into the folder.
async fn gone(folder: &tempfile::TempDir) {
    let child = fs::read_to_string(folder.path().join("child")).expect("a process");
    let deadline = std::time::Instant::now() + crate::harness::MAX_SHUTDOWN_TIME;
    while crate::harness::is_alive(child.trim()) {
        assert!(std::time::Instant::now() < deadline, "{child} lives on");
        tokio::task::yield_now().await;
    }
}

fn write(folder: &tempfile::TempDir, script: &str) -> PathBuf {
    let program = folder.path().join("may-it-run");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file can be written");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&program, executable).expect("a file can be run");
    program
}

#[tokio::test]
async fn a_program_sees_the_call_and_allows_it_where_nobody_is_at_a_terminal() {
    let script = r#"cat > "$1/asked"; env > "$1/env"; echo '{"decision": "allow"}'"#;
    let (ran, told, folder) = decided(script, "30s").await;
    ran.answers("done\n");
    assert!(told.contains('2') && !told.contains("denied"), "{told}");
    let asked = fs::read(folder.path().join("asked")).expect("the question");
    let asked: Value = serde_json::from_slice(&asked).expect("JSON");
    assert_eq!(asked["tool"], "calculator");
    assert_eq!(asked["arguments"], json!({ "expression": "1+1" }));
    for field in ["server", "session", "subject", "turn", "call", "wait"] {
        assert!(
            asked[field].as_str().is_some_and(|text| !text.is_empty()),
            "{asked}"
        );
    }
    let environment = fs::read_to_string(folder.path().join("env")).expect("the environment");
    assert!(!environment.contains("ANTHROPIC"), "{environment}");
}

#[tokio::test]
async fn a_program_changes_the_arguments_and_the_outcome_says_so() {
    let script = r#"echo '{"decision": "allow", "arguments": {"expression": "40+2"}}'"#;
    let (ran, told, _folder) = decided(script, "30s").await;
    ran.answers("done\n");
    assert!(
        told.contains("arguments that an approver changed"),
        "{told}"
    );
    assert!(told.contains("42"), "{told}");
}

#[tokio::test]
async fn the_reason_of_a_programs_no_is_told_to_the_model() {
    let script = r#"echo '{"decision": "deny", "reason": "nicht heute"}'"#;
    let (ran, told, _folder) = decided(script, "30s").await;
    ran.answers("done\n");
    assert!(
        told.contains("it was denied. The reason given: nicht heute"),
        "{told}"
    );
}

#[tokio::test]
async fn a_program_that_fails_in_any_way_has_said_no() {
    for (script, timeout, why) in [
        (
            r#"echo '{"decision": "allow"}'; exit 1"#,
            "30s",
            "it ended with code 1",
        ),
        ("sleep 600", "300ms", "no answer within 0.3 s"),
        ("echo yes", "30s", "its answer is no JSON"),
        (
            r#"echo '{"decision": "alow"}'"#,
            "30s",
            "its `decision` is none of",
        ),
        (
            r#"echo '{"decision": "allow", "arguments": 7}'"#,
            "30s",
            "its `arguments` are not",
        ),
        (
            r#"echo '{"decision": "allow"} {"decision": "allow"}'"#,
            "30s",
            "no JSON",
        ),
        ("exec yes allow", "30s", "its answer is longer than 1 MiB"),
        ("true", "30s", "its answer is no JSON"),
        // As a program writes it that puts a text of the model into its reason.
        (
            r#"echo '{"decision": "deny", "reason": "not", "decision": "allow", "x": ""}'"#,
            "30s",
            "its answer is no JSON: duplicate field `decision`",
        ),
        ("kill -9 $$", "30s", "it was ended by a signal"),
    ] {
        let (ran, told, _folder) = decided(script, timeout).await;
        ran.answers("done\n");
        assert!(
            told.contains("gave no answer that counts"),
            "{script}: {told}"
        );
        assert!(told.contains(why), "{script}: {told}");
    }
}

#[tokio::test]
async fn what_a_program_has_started_ends_with_its_time() {
    let script = r#"sleep 600 & echo $! > "$1/child"; wait"#;
    let (ran, told, folder) = decided(script, "300ms").await;
    ran.answers("done\n");
    assert!(told.contains("no answer within"), "{told}");
    gone(&folder).await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it_and_is_not_waited_for() {
    let script = r#"sleep 600 & echo $! > "$1/child"; echo '{"decision": "allow"}'"#;
    let (ran, told, folder) = decided(script, "10m").await;
    ran.answers("done\n");
    assert!(told.contains('2') && !told.contains("denied"), "{told}");
    gone(&folder).await;
}

#[tokio::test]
async fn what_the_policy_denies_no_program_allows() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("done"),
    ])
    .await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = write(&folder, r#"touch "$1/asked"; echo '{"decision": "allow"}'"#);
    let more = format!(
        "[policy.tools]\n\"*\" = \"deny\"\n[approvals]\ncommand = [\"{}\", \"{}\"]",
        program.display(),
        folder.path().display(),
    );
    let ran = jackfield(["ask", "how much?"])
        .at_with(&claude.base_url(), &more)
        .run()
        .await;
    ran.answers("done\n");
    assert!(!folder.path().join("asked").exists(), "it was asked");
    kept(&claude);
}

#[tokio::test]
async fn a_program_of_a_project_is_not_asked() {
    let more = "[approvals]\ncommand = [\"true\"]";
    let ran = jackfield(["ask", "how much?"]).in_project("jackfield.toml", more);
    let ran = ran.configured("").run().await;
    ran.stops(
        3,
        "a file that was merely found does not say who lets calls run",
    );
}

#[tokio::test]
async fn a_tool_is_asked_and_is_offered_to_no_model() {
    let answer = r#"{"decision": "deny", "reason": "says the tool"}"#;
    let server = McpServer::of("may_it_run", &json!([{ "text": answer }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("done"),
    ])
    .await;
    let more = "[policy.tools]\n\"*\" = \"ask\"\n[approvals]\ntool = \"guard/may_it_run\"";
    let ask = jackfield(["ask", "how much?"]).servers([("guard", server.entry())]);
    let ran = ask.at_with(&claude.base_url(), more).run().await;
    ran.answers("done\n");
    let requests = claude.requests();
    assert!(
        requests[1]["messages"]
            .to_string()
            .contains("says the tool"),
        "{requests:?}"
    );
    assert!(
        !requests[0]["tools"].to_string().contains("may_it_run"),
        "{requests:?}"
    );
    server.kept_and_gone().await;
    kept(&claude);
}
