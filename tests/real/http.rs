//! A real server over Streamable HTTP: `@modelcontextprotocol/server-everything`, with sessions.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::harness::kept;
use crate::world::{World, node};

/// The server, which ends with this.
struct Everything {
    port: u16,
    _process: Child,
}

impl Everything {
    /// Starts it, and waits until it takes connections.
    async fn start() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port can be opened");
        let port = free.local_addr().expect("it has an address").port();
        drop(free);
        let entry = node("mcp-server-everything", &["streamableHttp"]);
        let program = entry["command"].as_str().unwrap_or_default();
        let process = Command::new(program)
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it can be started");
        let listens = tokio::time::timeout(START, async {
            while tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_err()
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(listens.await.is_ok(), "it does not listen");
        Self {
            port,
            _process: process,
        }
    }

    fn entry(&self) -> Value {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        json!({ "type": "http", "url": url, "trust": true })
    }
}

#[tokio::test]
async fn a_real_server_at_an_address_is_listed_and_called_with_progress() {
    let (world, everything) = (World::new(), Everything::start().await);
    let list = world.jackfield(["mcp", "list", "--json"]);
    let ran = list
        .servers([("everything", everything.entry())])
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    assert_eq!(list[0]["protocol"], "2025-11-25", "{}", ran.out);
    assert_eq!(list[0]["stateless"], false);
    let slow = json!({ "duration": 1, "steps": 4 });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("everything__echo", &json!({ "message": "over the wire" }))
            .and_call("everything__trigger-long-running-operation", &slow)
            .and_call("everything__get-sum", &json!({ "a": 2, "b": 40 })),
        ScriptTurn::text("All three."),
    ])
    .await;
    let ask = world.jackfield(["ask", "Try it", "--json", "--yes"]);
    let ask = ask.at(&claude.base_url());
    let ran = ask
        .servers([("everything", everything.entry())])
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    let said = |nth: usize| calls[nth]["result"].as_str().unwrap_or_default().to_owned();
    assert!(said(0).contains("over the wire"), "{calls}");
    assert!(said(1).contains("Steps: 4"), "{calls}");
    assert!(said(2).contains("42"), "{calls}");
    assert!(ran.out.contains("progress"), "{}", ran.out);
    kept(&claude);
    world.is_left().await;
}

/// The time limit for its start.
const START: Duration = Duration::from_secs(30);
