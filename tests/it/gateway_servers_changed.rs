//! `jackfield serve` while the file of its MCP servers is changed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, McpServer, is_alive, tool};

/// Begins a session of an older revision; returns its id.
async fn session(gateway: &Gateway) -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "slice", "version": "1" },
    } });
    let begun = gateway.post("/mcp", &hello).header("accept", ACCEPT);
    begun.answered().await.header("mcp-session-id").to_owned()
}

/// Asks in a session.
async fn ask(gateway: &Gateway, session: &str, (id, method): (u32, &str), params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let asking = gateway
        .post("/mcp", &body)
        .header("accept", ACCEPT)
        .header("mcp-session-id", session);
    let answer = asking.answered().await;
    if answer
        .header("content-type")
        .starts_with("text/event-stream")
    {
        return answer.json_events().pop().expect("an answer");
    }
    answer.is(200)
}

async fn call(gateway: &Gateway, session: &str, id: u32, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": {} });
    let answer = ask(gateway, session, (id, "tools/call"), params).await;
    answer["result"]["content"][0]["text"].clone()
}

async fn tools(gateway: &Gateway, session: &str, id: u32) -> Vec<String> {
    let listed = ask(gateway, session, (id, "tools/list"), json!({})).await;
    let tools = listed["result"]["tools"].as_array().into_iter().flatten();
    let names = tools.filter_map(|tool| tool["name"].as_str());
    let of_servers = names.filter(|name| !["calculator", "current_datetime"].contains(name));
    of_servers.map(str::to_owned).collect()
}

fn write(file: &Path, servers: &[(&str, Value)]) {
    let servers = servers.iter().cloned();
    let servers: serde_json::Map<String, Value> = servers
        .map(|(id, server)| (id.to_owned(), server))
        .collect();
    let text = json!({ "mcpServers": servers }).to_string();
    fs::write(file, text).expect("the folder can be written");
}

/// The ids of a server's processes.
fn processes(server: &McpServer) -> Vec<String> {
    let log = server.log().into_iter();
    let starts = log.filter_map(|line| line.strip_prefix("start ").map(str::to_owned));
    starts.collect()
}

#[tokio::test]
async fn changed_servers_are_replaced_without_a_restart_and_a_bad_file_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (file, gate) = (folder.path().join("mine.json"), folder.path().join("gate"));
    let steady = McpServer::of("look", &json!([{ "text": "steady" }]));
    let before = McpServer::new(json!({
        "tools": [tool("look")],
        "calls": { "look": [{ "until": gate }, { "text": "before" }] },
    }));
    let after = McpServer::of("look", &json!([{ "text": "after" }]));
    let new = McpServer::of("see", &json!([{ "text": "new" }]));
    write(
        &file,
        &[("steady", steady.trusted()), ("turned", before.trusted())],
    );
    let named = file.to_str().expect("the path is text");
    let sessions = Kept::new();
    let serve = sessions.gateway().more(&["--mcp-config", named]);
    let mut gateway = Gateway::listening(serve.configured("").start()).await;
    let first = session(&gateway).await;
    let known = tools(&gateway, &first, 2).await;
    assert_eq!(known, ["steady__look", "turned__look"]);
    let mut changes = gateway
        .get("/mcp")
        .header("accept", ACCEPT)
        .header("mcp-session-id", &first)
        .sent()
        .await;
    changes.until("\r\n\r\n").await;

    fs::write(&file, "{ \"mcpServers\": { \"turned\": ").expect("the folder can be written");
    gateway.running.err.until("stay as they are").await;
    assert_eq!(call(&gateway, &first, 3, "steady__look").await, "steady");

    let open = call(&gateway, &first, 4, "turned__look");
    let meanwhile = async {
        before.until("call look").await;
        let servers = [
            ("new", new.trusted()),
            ("steady", steady.trusted()),
            ("turned", after.trusted()),
        ];
        write(&file, &servers);
        changes.until("notifications/tools/list_changed").await;
        new.until("start ").await;
        let known = tools(&gateway, &first, 5).await;
        assert_eq!(known, ["new__see", "steady__look", "turned__look"]);
        assert_eq!(call(&gateway, &first, 6, "turned__look").await, "after");
        let ids = processes(&before);
        assert!(ids.iter().all(|id| is_alive(id)), "its call is open");
        fs::write(&gate, "").expect("the folder can be written");
    };
    let (answered, ()) = tokio::join!(open, meanwhile);
    assert_eq!(answered, "before");
    before.kept_and_gone().await;
    assert_eq!((steady.count("start "), before.count("start ")), (1, 1));

    // Another prefix is no reason to end a server.
    let renamed = steady.with(&json!({ "prefix": "calm_", "trust": true }));
    write(&file, &[("steady", renamed)]);
    let gone = tokio::time::timeout(TIME_LIMIT, async {
        let mut nth = 10;
        while tools(&gateway, &first, nth).await != ["calm_look"] {
            nth += 1;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(gone.await.is_ok(), "{:?}", gateway.running.err.so_far());
    after.kept_and_gone().await;
    new.kept_and_gone().await;
    assert_eq!(steady.count("start "), 1);
    gateway.end().await;
    steady.kept_and_gone().await;
}

const ACCEPT: &str = "application/json, text/event-stream";
const TIME_LIMIT: Duration = Duration::from_secs(60);
