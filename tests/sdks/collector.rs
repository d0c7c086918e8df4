//! Traces, metrics and the log, as a real collector receives them.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::harness::{Gateway, Kept, kept};
use crate::script::interpreter;

/// A collector that writes what it receives.
struct Rotel {
    endpoint: String,
    lines: Lines<BufReader<ChildStdout>>,
    process: Child,
}

impl Rotel {
    /// Starts it, and waits until it listens.
    async fn start() -> Self {
        let [http, grpc] = [free(), free()];
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdks/collector.py");
        let mut command = Command::new(interpreter("collector.py"));
        let command = command.arg("-B").arg(script).env_clear();
        let command = command.args([http.to_string(), grpc.to_string()]);
        let command = command.stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().expect("Python starts");
        let output = process.stdout.take().expect("its output is a pipe");
        let lines = BufReader::new(output).lines();
        let listening = tokio::time::timeout(TIME_LIMIT, async {
            while tokio::net::TcpStream::connect(http).await.is_err() {
                tokio::task::yield_now().await;
            }
        });
        listening.await.expect("it listens in time");
        Self {
            endpoint: format!("http://{http}"),
            lines,
            process,
        }
    }

    /// Waits until it has written a line with each of these texts, in any order.
    async fn received(mut self, texts: &[&str]) {
        let mut missing = texts.to_vec();
        let mut written = String::new();
        let waiting = tokio::time::timeout(TIME_LIMIT, async {
            while !missing.is_empty() {
                let line = self.lines.next_line().await.expect("text");
                let line = line.expect("it has not ended");
                missing.retain(|text| !line.contains(text));
                written.push_str(&line);
                written.push('\n');
            }
        });
        let waited = waiting.await;
        assert!(waited.is_ok(), "{missing:?} is missing in {written}");
        self.process.kill().await.expect("it can be killed");
    }
}

/// An address of this machine that nothing listens at.
fn free() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    listener.local_addr().expect("it has an address")
}

#[tokio::test]
async fn a_real_collector_takes_traces_metrics_and_the_log() {
    let rotel = Rotel::start().await;
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let files = Kept::new();
    let config = format!(
        "[serve.otlp]\nendpoint = \"{}\"\nmetrics = true\nlogs = true\nservice = \"ours\"\n",
        rotel.endpoint
    );
    let run = files.gateway().at_with(&claude.base_url(), &config);
    let gateway = Gateway::listening(run.start()).await;
    let made = gateway.post("/api/v1/sessions", &json!({})).answered();
    let session = made.await.is(201)["id"].clone();
    let session = session.as_str().expect("an id");
    let path = format!("/api/v1/sessions/{session}/turns");
    let turn = gateway.post(&path, &json!({ "message": "calculate" }));
    turn.answered().await.is(200);
    // At its end, it sends what is left.
    gateway.end().await;
    let conversation = format!("gen_ai.conversation.id: Str({session})");
    let received = [
        "service.name: Str(ours)",
        "Name           : invoke_agent jackfield",
        "Name           : chat claude-opus-5-5",
        "Name           : execute_tool calculator",
        &*conversation,
        "gen_ai.client.operation.duration",
        "gen_ai.execute_tool.duration",
        "http.server.request.duration",
        "Body: Str(answered)",
    ];
    rotel.received(&received).await;
    kept(&claude);
}

/// How long the collector may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);
