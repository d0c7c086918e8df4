//! The examples of docs/api.md, run as they stand.

use std::process::Stdio;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::json;

use crate::harness::{Gateway, Kept};

#[tokio::test]
async fn the_examples_of_the_api_run_as_they_stand() {
    let text = include_str!("../../docs/api.md");
    let blocks = text.split("```sh\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 8, "{} examples", blocks.len());
    let script = Script::by(|asked| {
        let last = &asked.last_text;
        Some(if last.contains("15% of 2500") && !last.contains("375") {
            ScriptTurn::call("calculator", &json!({ "expression": "15% of 2500" }))
        } else if last.contains("raining") {
            ScriptTurn::call("weather", &json!({}))
        } else {
            ScriptTurn::text(format!("You said: {last}"))
        })
    });
    let files = Kept::new();
    let claude = ScriptedClaude::start(script).await;
    let token = "docs-0123456789abcdef";
    let tokens = "[serve.tokens.docs]\nenv = \"DOCS\"\n";
    let run = files.gateway().at_with(&claude.base_url(), tokens);
    let gateway = Gateway::listening(run.env("DOCS", token).start()).await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    // Each example says where it ends; one that fails ends all.
    let lines: Vec<String> = blocks
        .iter()
        .enumerate()
        .map(|(nth, block)| format!("{block}\necho; echo \"--- {nth}\""))
        .collect();
    let ran = tokio::process::Command::new("bash")
        .args(["-euo", "pipefail", "-c", &lines.join("\n")])
        .current_dir(folder.path())
        .env("JACKFIELD", format!("http://{}", gateway.address()))
        .env("TOKEN", token)
        .stdin(Stdio::null())
        .output()
        .await
        .expect("there is a bash");
    let (out, err) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success(), "{out}\n{err}");
    let mut parts = out.split("--- ");
    let mut next = || parts.next().unwrap_or_default();
    for expected in [
        "\"success\": true",
        "event: turn_ended",
        "1",
        "Rain until noon.",
        "event: turn_ended",
        "",
        "\"differs\": 0",
        "\"pointer\":\"/temprature\"",
        "\"replies\":",
        "\"status\":\"ok\"",
    ] {
        let part = next();
        assert!(
            part.contains(expected),
            "{expected} is not in {part}\n{err}"
        );
    }
    gateway.end().await;
}
