//! The AI SDK's chat on the gateway's UI message stream.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::harness::{Gateway, Kept, kept};
use crate::script::{folder, interpreter};

#[tokio::test]
async fn a_front_end_of_the_ai_sdk_has_approvals_its_own_tools_and_resumes_after_a_kill() {
    let files = Kept::new();
    let gate = Gate::new();
    let long = "A word after the other. ".repeat(40);
    let claude = ScriptedClaude::start([
        ScriptTurn::reply([ScriptPart::Text("Two sums.".to_owned())])
            .and_call("calculator", &json!({ "expression": "1+1" }))
            .and_call("calculator", &json!({ "expression": "2+2" })),
        ScriptTurn::text("2, and not allowed."),
        ScriptTurn::text("Again."),
        ScriptTurn::call("weather", &json!({ "city": "Porto" })),
        ScriptTurn::text("Rain until noon."),
        ScriptTurn::text(format!("{long}Lost.")).pause_after(4_000, &gate),
        ScriptTurn::text("The reply after the restart."),
    ])
    .await;
    let asks = "[policy.tools]\n\"*\" = \"ask\"\n";
    let running = files.gateway().at_with(&claude.base_url(), asks).start();
    let gateway = Gateway::listening(running).await;
    let address = gateway.address().to_owned();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdks/ui.mjs");
    let mut command = Command::new(interpreter("ui.mjs"));
    command
        .arg(script)
        .env_clear()
        .env("JACKFIELD_MODULES", folder("JACKFIELD_SDKS_NODE"))
        .env("JACKFIELD_URL", format!("http://{address}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().expect("Node.js starts");
    let mut input = child.stdin.take().expect("its input is a pipe");
    let output = child.stdout.take().expect("its output is a pipe");
    let mut lines = BufReader::new(output).lines();
    let mut gateway = Some(gateway);
    while let Some(line) = timeout(TIME_LIMIT, lines.next_line())
        .await
        .expect("the script goes on")
        .expect("text")
    {
        match &*line {
            "kill" => {
                gate.reached().await;
                let ended = gateway.take().expect("it runs");
                ended.running.kill();
                ended.running.end().await;
            }
            "start" => {
                let again = files.run(&["serve", "--bind", &address]);
                let again = again.at_with(&claude.base_url(), asks).start();
                gateway = Some(Gateway::listening(again).await);
            }
            other => println!("{other}"),
        }
        input.write_all(b"done\n").await.expect("the script reads");
    }
    let status = child.wait().await.expect("it ends");
    let mut complaint = String::new();
    let mut pipe = child.stderr.take().expect("its errors are a pipe");
    pipe.read_to_string(&mut complaint).await.expect("text");
    assert!(status.success(), "{complaint}");
    kept(&claude);
    gateway.expect("it runs").end().await;
}

/// How long the script may take from one line to the next.
const TIME_LIMIT: Duration = Duration::from_secs(60);
