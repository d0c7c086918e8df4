//! The server as a process.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::http::{ask, get, post, question};

#[tokio::test]
async fn the_program_prints_its_address_serves_the_script_and_ends_with_its_input() {
    let folder = std::env::temp_dir().join(format!("scripted-claude-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("script.json");
    let script = json!({ "replies": [{ "text": "hello", "when": "hi" }, { "text": "unused" }] });
    std::fs::write(&path, script.to_string()).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_scripted-claude"))
        .arg(&path)
        .arg("--until-stdin-ends")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut base_url = String::new();
    BufReader::new(program.stdout.take().unwrap())
        .read_line(&mut base_url)
        .unwrap();
    let base_url = base_url.trim();

    let said = post(base_url, "/v1/messages", &question("hi").to_string()).await;
    assert_eq!(said.json()["content"][0]["text"], "hello");
    let refused = post(base_url, "/v1/messages", "{}").await;
    assert_eq!(refused.status, 400);
    let requests = get(base_url, "/scripted/requests").await.json();
    assert_eq!(requests, json!([question("hi"), {}]));
    let violations = get(base_url, "/scripted/violations").await.json();
    assert_eq!(violations[0], "request 1: model: a text is needed");
    assert_eq!(get(base_url, "/scripted/unused").await.json(), json!(1));

    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    let mut report = String::new();
    let mut stderr = program.stderr.take().unwrap();
    stderr.read_to_string(&mut report).unwrap();
    assert!(
        report.contains("request 1: model: a text is needed"),
        "{report}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_script_that_cannot_be_read_is_named() {
    let failed = Command::new(env!("CARGO_BIN_EXE_scripted-claude"))
        .arg("/nowhere/script.json")
        .output()
        .unwrap();
    assert!(!failed.status.success());
    let report = String::from_utf8_lossy(&failed.stderr);
    assert!(report.contains("/nowhere/script.json"), "{report}");
}

#[tokio::test]
async fn the_openai_program_takes_the_manners_of_a_server() {
    let folder = std::env::temp_dir().join(format!("scripted-openai-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("script.json");
    let script = json!({ "replies": [{ "calls": [{ "name": "add" }] }] });
    std::fs::write(&path, script.to_string()).unwrap();
    let program = env!("CARGO_BIN_EXE_scripted-openai");
    let mut mistral = Command::new(program)
        .arg(&path)
        .args(["--until-stdin-ends", "--like", "mistral"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut base_url = String::new();
    BufReader::new(mistral.stdout.take().unwrap())
        .read_line(&mut base_url)
        .unwrap();
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "a" }] });
    let said = ask(base_url.trim(), "/v1/chat/completions", &body)
        .await
        .json();
    let id = &said["choices"][0]["message"]["tool_calls"][0]["id"];
    assert_eq!(id.as_str().unwrap().len(), 9);
    drop(mistral.stdin.take());
    assert!(mistral.wait().unwrap().success());

    let refused = Command::new(program)
        .arg(&path)
        .args(["--like", "nobody"])
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let report = String::from_utf8_lossy(&refused.stderr);
    assert!(
        report.contains("--like deepseek|mistral|ollama|openai"),
        "{report}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
