//! The metrics of the gateway, as Prometheus' own client reads them.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::harness::{Gateway, Kept, kept};
use crate::script::interpreter;

#[tokio::test]
async fn the_client_of_prometheus_reads_the_metrics() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let files = Kept::new();
    let on =
        "[serve]\nmetrics = true\n[prices.\"claude/claude-opus-5-5\"]\ninput = 1\noutput = 1\n";
    let running = files.gateway().at_with(&claude.base_url(), on).start();
    let gateway = Gateway::listening(running).await;
    let made = gateway.post("/api/v1/sessions", &json!({})).answered();
    let session = made.await.is(201)["id"].clone();
    let path = format!(
        "/api/v1/sessions/{}/turns",
        session.as_str().expect("an id")
    );
    let turn = gateway.post(&path, &json!({ "message": "calculate" }));
    turn.answered().await.is(200);
    // The turn counts when its end is committed, and its answer may be faster.
    let page = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let page = gateway.get("/metrics").answered().await;
            if page.text().contains("jackfield_ledger_cost_total{") {
                return page.text().to_owned();
            }
        }
    });
    let page = page.await.expect("the turn counts");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdks/metrics.py");
    let mut command = Command::new(interpreter("metrics.py"));
    let command = command.arg("-B").arg(script).env_clear();
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut input = child.stdin.take().expect("its input is a pipe");
    input.write_all(page.as_bytes()).await.expect("it reads");
    drop(input);
    let ran = child.wait_with_output().await.expect("it ends");
    let complaint = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{complaint}\n{page}");
    let mut families: Vec<Value> = serde_json::from_slice(&ran.stdout).expect("JSON");
    families.sort_by_key(|family| family[0].to_string());
    // A histogram of `n` bounds has `n + 3` samples for each set of labels.
    assert_eq!(
        Value::Array(families),
        json!([
            [
                "gen_ai_client_operation_duration_seconds",
                "histogram",
                "seconds",
                17
            ],
            [
                "gen_ai_client_operation_time_to_first_chunk_seconds",
                "histogram",
                "seconds",
                17
            ],
            ["gen_ai_client_token_usage", "histogram", "", 34],
            [
                "gen_ai_execute_tool_duration_seconds",
                "histogram",
                "seconds",
                17
            ],
            [
                "gen_ai_invoke_agent_duration_seconds",
                "histogram",
                "seconds",
                17
            ],
            [
                "http_server_request_duration_seconds",
                "histogram",
                "seconds",
                38
            ],
            ["jackfield_build", "info", "", 1],
            ["jackfield_ledger_cost", "counter", "", 1],
            ["jackfield_ledger_tokens", "counter", "", 4],
            ["jackfield_open_turns", "gauge", "", 1],
        ])
    );
    gateway.end().await;
    kept(&claude);
}
