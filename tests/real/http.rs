//! A real server over Streamable HTTP: `@modelcontextprotocol/server-everything`, with sessions.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::harness::{Gateway, kept};
use crate::world::{World, node, trusted};

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

#[tokio::test]
async fn the_resources_and_prompts_of_a_real_server_over_both_transports() {
    let (world, remote) = (World::new(), Everything::start().await);
    let servers = || {
        [
            ("far", remote.entry()),
            ("near", trusted(&world.everything())),
        ]
    };
    for id in ["near", "far"] {
        let inspect = world.jackfield(["mcp", "inspect", id, "--json"]);
        let ran = inspect.servers(servers()).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let shown: Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let uri = "demo://resource/static/document/features.md";
        assert!(shown["resources"].to_string().contains(uri), "{shown}");
        let template = "demo://resource/dynamic/text/{resourceId}";
        assert_eq!(shown["resource_templates"][0]["uriTemplate"], template);
        assert!(shown["prompts"].to_string().contains("completable-prompt"));

        let claude = ScriptedClaude::start([ScriptTurn::text("Read.")]).await;
        let question = format!("Compare @{id}:{uri} with @{id}:demo://resource/dynamic/text/7.");
        let ask = world.jackfield(["ask", &question]).at(&claude.base_url());
        let ran = ask.servers(servers()).run().await;
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), "Read.\n"),
            "{}",
            ran.err
        );
        let content = claude.requests()[0]["messages"][0]["content"].clone();
        let texts = [0, 1].map(|nth| content[nth]["text"].as_str().unwrap_or_default().to_owned());
        assert!(texts[0].contains("Everything Server"), "{content}");
        assert!(
            texts[1].contains("Resource 7: This is a plaintext resource"),
            "{content}"
        );
        kept(&claude);
    }

    let toggles = ["near", "far"].map(|id| format!("\"{id}/toggle-subscriber-updates\""));
    let policy = toggles.map(|tool| format!("{tool} = \"allow\"\n")).concat();
    let serve = world.jackfield(["serve", "--bind", "127.0.0.1:0"]);
    let serve = serve.configured(format!("[policy.tools]\n{policy}"));
    let gateway = Gateway::listening(serve.servers(servers()).start()).await;
    for id in ["near", "far"] {
        let post = |path: &str, body: Value| {
            let asking = gateway.post(&format!("/api/v1/servers/{id}/{path}"), &body);
            asking.answered()
        };
        let prompt = json!({ "name": "args-prompt", "arguments": { "city": "Oslo" } });
        let made = post("prompts", prompt).await.is(200);
        let text = made["messages"][0]["content"]["text"].to_string();
        assert!(text.contains("Oslo"), "{made}");
        let complete =
            json!({ "prompt": "completable-prompt", "argument": "department", "value": "E" });
        let completed = post("complete", complete).await.is(200);
        assert_eq!(completed["values"], json!(["Engineering"]));
        let known = json!({ "department": "Engineering" });
        let complete = json!({ "prompt": "completable-prompt", "argument": "name", "value": "A", "known": known });
        let completed = post("complete", complete).await.is(200);
        assert_eq!(completed["values"], json!(["Alice"]));

        let uri = "demo://resource/dynamic/text/1";
        let path = format!("/api/v1/servers/{id}/resources/events?uri={uri}");
        let mut changes = gateway.get(&path).sent().await;
        changes.until("{\"changed\":\"watching\"}").await;
        // It announces changes of everything at once, and then every five seconds.
        let name = format!("{id}__toggle-subscriber-updates");
        let params = json!({ "name": name, "arguments": {} });
        let called = gateway.modern(1, "tools/call", params).answered().await;
        assert!(called.said().contains("Started"), "{called:?}");
        let changed = format!("{{\"changed\":\"resource\",\"uri\":\"{uri}\"}}");
        changes.until(&changed).await;
    }
    gateway.end().await;
    world.is_left().await;
}

/// The time limit for its start.
const START: Duration = Duration::from_secs(30);
